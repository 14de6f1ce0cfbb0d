import { Hono } from 'hono';
import * as z from 'zod';
import { ConstraintError } from '../db/database';
import { Problem } from '../errors';
import { makeActivityRecord } from '../http/activity';
import { type AppEnv, type RequestContext, withFixedClock } from '../http/context';
import { body, noQuery } from '../http/input';
import { answer, created, operation } from '../http/operation';
import { limitNetwork } from '../http/rate-limit';
import { PAIRED_TOKEN_LIFETIME, pairedScopes } from '../identity/pairing/paired-token';
import { openPairing, type Pairing } from '../identity/pairing/pairing-code';
import { CreatedUserToken, makeUserToken, userTokenLocation } from '../identity/tokens/user-token';
import { CredentialEnded } from '../ledger/authority';
import { sha256, toBase64Url } from '../lib/bytes';
import { type LazyOutput, lazy } from '../lib/lazy';
import type { LogFields } from '../lib/log';

const examplePairing = {
  code: 'c2hhcmQgMDAgYWNjb3VudCAxIG1lbWJlciBzZXNzaW9u',
  code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
  redirect_uri: 'http://127.0.0.1:49152/callback',
};

const PairingExchange = lazy(() =>
  z
    .strictObject({
      code: z
        .string()
        .meta({ description: 'The `code` with which the browser came to `redirect_uri`.' }),
      code_verifier: z
        .string()
        .min(43)
        .max(128)
        .regex(/^[A-Za-z0-9._~-]+$/, 'must hold only letters, digits, and - . _ ~')
        .meta({
          description: 'The PKCE code verifier (RFC 7636) whose SHA-256 is the `code_challenge`.',
        }),
      redirect_uri: z.string().meta({ description: 'The same as in the address of the console.' }),
    })
    .meta({ id: 'PairingExchange', examples: [examplePairing] }),
);

type ExchangeInput = LazyOutput<typeof PairingExchange>;

/**
 * Exchanges a pairing code for a user token of the member who confirmed the pairing. A code works
 * once; an exchange with another verifier or redirect ends it too. Of several concurrent exchanges
 * only one gets a token.
 * @throws Problem `invalid_request` with one text for every code that cannot be exchanged, or
 *   `rate_limited` after too many of them from the same network; `conflict` if the member has the
 *   maximum number of tokens: then the code still works; `unavailable` while the account moves to
 *   another shard
 */
export async function exchangePairingCode(
  c: RequestContext & { set(name: 'caller', value: LogFields): void },
  input: ExchangeInput,
): Promise<CreatedUserToken> {
  const { config, origin } = c.var;
  const runtime = withFixedClock(c.var.runtime);
  const found = await openPairing(c, input.code);
  if (!found) return refuseCode(c);
  const { pairing, accountId, role, ledger, use } = found;
  const { shard, account, member, name } = pairing;
  c.set('caller', { credential: 'pairing_code', shard, account: accountId, member });
  const refuseUsed = (error: unknown) => {
    const isUsed = error instanceof ConstraintError && error.subject === 'used_challenges.account';
    if (isUsed || error instanceof CredentialEnded) return refuseCode(c);
    throw error;
  };
  if (!(await isProven(pairing, input))) {
    await ledger.write({ changes: (write) => [use(write)] }).catch(refuseUsed);
    return refuseCode(c);
  }
  const { token, guard, store } = await makeUserToken(
    { config, runtime },
    {
      ...{ shard, account: accountId, member, createdBy: member },
      input: {
        name: name ?? undefined,
        scopes: pairedScopes(role),
        expires_at: runtime.now() + PAIRED_TOKEN_LIFETIME,
      },
    },
  );
  const activity = {
    account,
    actor: member,
    action: 'user_token.created' as const,
    target: token.id,
    changes: [],
  };
  await ledger
    .change({
      record: makeActivityRecord({ runtime, origin }, activity),
      guards: [guard],
      changes: (write) => [use(write), store(write)],
      answer: null,
    })
    .catch(refuseUsed);
  return token;
}

/** Whether the program that asks is the one that began the pairing (RFC 7636 section 4.6). */
async function isProven(
  { challenge, redirectUri }: Pairing,
  { code_verifier, redirect_uri }: ExchangeInput,
) {
  return redirect_uri === redirectUri && toBase64Url(await sha256(code_verifier)) === challenge;
}

/**
 * @throws Problem `invalid_request`, or `rate_limited` after too many failures from the same
 *   network
 */
async function refuseCode(c: RequestContext): Promise<never> {
  await limitNetwork(c);
  throw new Problem(
    'invalid_request',
    'The code cannot be exchanged: it is wrong, has expired, or was used. Start the pairing again.',
  );
}

export const exchangePairingCodeRoute = new Hono<AppEnv>().post(
  '/v1/pairing',
  operation({
    id: 'exchangePairingCode',
    tag: 'Account',
    summary: 'Exchange a pairing code for a user token',
    description:
      'The last step of a pairing, by which a program gets a token of the member who confirmed it at `/console/pair`. The ' +
      'token lives 30 days, and has the scopes of the member’s role without `account:write`. A code lives 60 seconds and ' +
      'works once; a wrong `code_verifier` or `redirect_uri` ends it too. Every code that cannot be exchanged gets the same ' +
      '400. An `Idempotency-Key` has no effect: begin the pairing again if the answer was lost.',
    success: created(CreatedUserToken, userTokenLocation),
    problems: ['conflict', 'rate_limited'],
  }),
  noQuery(),
  body(PairingExchange),
  async (c) => answer(c, await exchangePairingCode(c, c.req.valid('json'))),
);
