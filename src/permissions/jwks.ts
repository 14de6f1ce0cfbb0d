import { Hono } from 'hono';
import * as z from 'zod';
import type { App } from '../http/context';
import { noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { later } from '../lib/later';
import { examplePublicKey, PublicKey } from './public-key';
import { TokenSigner } from './token-signing';

const FIVE_MINUTES = 300;

/** A set of keys (RFC 7517 section 5). */
const KeySet = later(() =>
  z
    .object({ keys: z.array(PublicKey()).meta({ description: 'Newest first.' }) })
    .meta({ id: 'KeySet', examples: [{ keys: [examplePublicKey] }] }),
);

/** The public keys that tokens are verified with (RFC 7517), for anybody. */
export const jwks = new Hono<App>().get(
  '/.well-known/jwks.json',
  operation({
    id: 'getKeys',
    tag: 'Tokens',
    summary: 'Get the keys that tokens are verified with',
    description: 'A JWK set (RFC 7517).',
    success: ok(KeySet),
  }),
  noQuery(),
  async (c) => {
    const signer = await TokenSigner.open(c.var.config.keyring, c.var.config.publicUrl);
    return answer(c, signer.jwks(), { 'Cache-Control': `public, max-age=${FIVE_MINUTES}` });
  },
);
