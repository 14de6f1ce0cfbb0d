import { Hono } from 'hono';
import * as z from 'zod';
import type { AppEnv } from '../../http/context';
import { noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { lazy } from '../../lib/lazy';
import { deriveLogKeys } from '../../lib/signing-key';
import { examplePublicKey, PublicKey } from './public-key';
import { TokenSigner } from './token-signer';

const FIVE_MINUTES = 300;

/** A set of keys (RFC 7517 section 5). */
const KeySet = lazy(() =>
  z
    .object({
      keys: z.array(PublicKey()).meta({ description: 'The keys of tokens, then the keys of logs; newest first.' }),
    })
    .meta({ id: 'KeySet', examples: [{ keys: [examplePublicKey] }] }),
);

/** The public keys that verify tokens and heads of audit logs (RFC 7517); needs no credential. */
export const getKeysRoute = new Hono<AppEnv>().get(
  '/.well-known/jwks.json',
  operation({
    id: 'getKeys',
    tag: 'Tokens',
    summary: 'Get the keys that verify tokens and audit logs',
    description:
      'A JWK set (RFC 7517). Keys whose `kid` begins with `log-` sign checkpoints of audit logs; the others sign tokens.',
    success: ok(KeySet),
  }),
  noQuery(),
  async (c) => {
    const { keyring, publicUrl } = c.var.config;
    const { publicKeys } = await TokenSigner.open(keyring, publicUrl);
    const logKeys = await deriveLogKeys(keyring);
    const keys = [...publicKeys, ...logKeys.map(({ publicJwk }) => publicJwk)];
    return answer(c, { keys }, { 'Cache-Control': `public, max-age=${FIVE_MINUTES}` });
  },
);
