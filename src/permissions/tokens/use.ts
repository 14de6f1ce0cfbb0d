import { Hono } from 'hono';
import { type PROBLEMS, Problem, unavailable } from '../../errors';
import { sharedAccess } from '../../http/access';
import type { Context } from '../../http/context';
import { body, noQuery, readJson } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { requireNotStopped } from '../../ledger/stop';
import { findPermission, visiblePermission } from '../find-permission';
import { type GrantedToken, type PermissionRow, tokenAt } from '../permission';
import { draftUse, usesLeftGuard } from './count-use';
import { takeUse } from './take-use';
import { preloadPermissionOfToken } from './token-input';
import { TokenUse, UsedToken } from './use-fields';
import { useTokenInOneTrip } from './use-in-one-trip';

/** Why a token cannot be used. */
type Refusal = (typeof PROBLEMS.token_not_active.reasons)[number];

/**
 * Takes one use of a token, and returns what the token allows.
 * @throws Problem `account_stopped`; `token_not_active`, with the reason; `conflict` if the
 *   account's log is full; `unavailable` if the token could not be used for a moment but can be now
 */
export async function useToken(
  context: Context,
  { permission, ...input }: { permission: PermissionRow | undefined } & Omit<TokenUse, 'token'>,
): Promise<UsedToken> {
  const { principal, runtime, reader } = context;
  requireNotStopped(principal.account);
  const row = visiblePermission(principal, permission);
  // A connection takes the use of its permissions itself.
  if (!row || row.connectionId !== null) throw notActive('unknown');
  const now = runtime.now();
  const { scope, expiresAt } = requireUsable(row, input, now);
  const { id, agentId, action, resource } = row;
  const used = await takeUse(context, {
    grant: { id, agentId, action, resource, scope, expiresAt },
    entry: draftUse(context, row, { scope }),
    guard: usesLeftGuard(row, now, () => notActive('used')),
  });
  if (used) return used;
  const [again] = await reader.load([findPermission(row.account, row.id)]);
  if (!again[0]) throw notActive('unknown');
  requireUsable(again[0], input, now);
  throw unavailable();
}

function requireUsable(
  row: PermissionRow,
  input: Omit<TokenUse, 'token'>,
  now: number,
): GrantedToken {
  const token = tokenAt(row, now);
  if (!token) throw notActive('unknown');
  if (token.status !== 'active') throw notActive(token.status);
  if (!row.agentIsActive) throw notActive('agent_inactive');
  const fits =
    (input.action ?? row.action) === row.action &&
    (input.resource ?? row.resource) === row.resource;
  if (!fits) throw notActive('mismatch');
  const digest = input.input_digest ?? null;
  if (digest !== row.inputDigest)
    throw notActive('mismatch', digestMismatch(row.inputDigest, digest));
  return token;
}

const EXPLANATIONS: Record<Refusal, string> = {
  expired: 'The token has expired. Ask for permission again.',
  used: 'The token has no use left. Ask for permission again.',
  revoked: 'The token was revoked. Ask for permission again.',
  unknown: 'The account has no such token.',
  mismatch: 'The token is for another action or resource.',
  agent_inactive: "The token's agent is inactive.",
};

function digestMismatch(bound: string | null, given: string | null): string {
  if (bound === null)
    return 'The token is not bound to an input. Send the request without `input_digest`.';
  if (given === null)
    return 'The token is bound to an input. Send the digest of what is about to run as `input_digest`.';
  return 'The input is not the one that was approved.';
}

function notActive(reason: Refusal, detail = EXPLANATIONS[reason]): Problem {
  return new Problem('token_not_active', detail, { members: { reason } });
}

export const useTokenRoute = new Hono().post(
  '/v1/tokens/use',
  operation({
    id: 'useToken',
    tag: 'Tokens',
    summary: 'Use a token',
    description:
      'Takes one use atomically, and says what the token allows. The guard of a resource calls this before it acts.',
    success: ok(UsedToken),
    problems: ['token_not_active', 'conflict'],
  }),
  sharedAccess('tokens:use', preloadPermissionOfToken(readJson), {
    heedsStop: true,
    shortcut: useTokenInOneTrip,
  }),
  noQuery(),
  body(TokenUse),
  async (c) => {
    const input = { permission: c.var.loaded.permission?.[0], ...c.req.valid('json') };
    return answer(c, await useToken(c.var.context, input));
  },
);
