import { Hono } from 'hono';
import type { App } from '../http/context';
import { noQuery } from '../http/input';
import { TokenSigner } from './token-signing';

const FIVE_MINUTES = 300;

/** The public keys that tokens are verified with (RFC 7517), for anybody. */
export const jwks = new Hono<App>().get('/.well-known/jwks.json', noQuery(), async (c) => {
  const signer = await TokenSigner.open(c.var.config.keyring, c.var.config.publicUrl);
  return c.json(signer.jwks(), 200, { 'Cache-Control': `public, max-age=${FIVE_MINUTES}` });
});
