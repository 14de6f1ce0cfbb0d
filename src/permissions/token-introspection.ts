import { Hono } from 'hono';
import { z } from 'zod';
import { sharedAccess } from '../http/access';
import type { Context } from '../http/context';
import { noQuery, oauthBody, readJsonOrForm } from '../http/input';
import { type PermissionRow, tokenAt } from './permission';
import { knownToken, permissionOfToken, tokenText, wordText } from './token-lookup';
import { TokenSigner } from './token-signing';
import { claimsOf } from './token-value';

const TokenIntrospection = z.strictObject({ token: tokenText, token_type_hint: wordText.optional() });

/** What is told of a token that is not active, or none of the caller's: nothing more (RFC 7662 section 2.2). */
const INACTIVE = { active: false } as const;

/**
 * Tells whether a token is active, and what it says (RFC 7662, with the authorization details of RFC 9396 section 9.2).
 * Takes no use.
 * @param loaded the permission of the token, as the authentication brought it
 */
export async function introspectToken({ principal, runtime, config }: Context, loaded: PermissionRow[] | undefined) {
  const row = knownToken(loaded, principal);
  const token = row && tokenAt(row, runtime.now());
  if (!row?.agentIsActive || token?.status !== 'active') return INACTIVE;
  const signer = await TokenSigner.open(config.keyring, config.publicUrl);
  return { active: true, token_type: 'Bearer', ...signer.payload(claimsOf(row, token)) };
}

export const tokenIntrospection = new Hono().post(
  '/v1/tokens/introspect',
  sharedAccess('tokens:use', permissionOfToken(readJsonOrForm)),
  noQuery(),
  oauthBody(TokenIntrospection),
  async (c) => c.json(await introspectToken(c.var.context, c.var.loaded)),
);
