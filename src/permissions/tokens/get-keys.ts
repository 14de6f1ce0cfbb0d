import { Hono } from 'hono';
import * as z from 'zod';
import type { AppEnv } from '../../http/context';
import { noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { lazy } from '../../lib/lazy';
import { deriveLogKeys, deriveTokenKeys } from '../../lib/signing-key';

/** The key of RFC 8037 appendix A. */
const examplePublicKey = {
  kty: 'OKP',
  crv: 'Ed25519',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
  kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
  use: 'sig',
  alg: 'EdDSA',
};

/**
 * A public key that verifies tokens or logs (RFC 7517 section 4, of the type of RFC 8037 section
 * 2).
 */
const PublicKey = lazy(() =>
  z
    .object({
      kty: z.literal('OKP'),
      crv: z.literal('Ed25519'),
      x: z.string().meta({ description: 'The key, in base64url.' }),
      kid: z.string().meta({
        description:
          'Its JWK thumbprint (RFC 7638), with the prefix `log-` for keys of logs. The header of a token names its key.',
      }),
      use: z.literal('sig'),
      alg: z.literal('EdDSA'),
    })
    .meta({ id: 'PublicKey', examples: [examplePublicKey] }),
);

/** A set of keys (RFC 7517 section 5). */
const KeySet = lazy(() =>
  z
    .object({
      keys: z.array(PublicKey()).meta({
        description: 'The keys of tokens, newest first, then the keys of logs, newest first.',
      }),
    })
    .meta({ id: 'KeySet', examples: [{ keys: [examplePublicKey] }] }),
);

export const getKeysRoute = new Hono<AppEnv>().get(
  '/.well-known/jwks.json',
  operation({
    id: 'getKeys',
    tag: 'Tokens',
    summary: 'Get the keys that verify tokens and audit logs',
    description:
      'A JWK set (RFC 7517). Keys whose `kid` begins with `log-` sign checkpoints of audit logs; the others sign tokens. ' +
      'Pages of any origin may read it.',
    success: ok(KeySet),
  }),
  noQuery(),
  async (c) => {
    const { keyring } = c.var.config;
    const keys = [...(await deriveTokenKeys(keyring)), ...(await deriveLogKeys(keyring))];
    return answer(
      c,
      { keys: keys.map(({ publicJwk }) => publicJwk) },
      { 'Cache-Control': 'public, max-age=300' },
    );
  },
);
