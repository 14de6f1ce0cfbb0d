import { loadNonNull } from '../../db/database';
import { openShard } from '../../db/shards';
import { type RequestContext, SCOPES, type Scope, type UserPrincipal } from '../../http/context';
import { limitIdentity } from '../../http/rate-limit';
import { SECOND } from '../../lib/time';
import { failAuthentication, type PreloadQueries } from '../credentials';
import { limitToRole } from '../roles';
import { createOwner } from './create-owner';
import { DIRECTORY } from './directory';
import {
  admit,
  type CallerRow,
  callerByIdentityKey,
  findIdentity,
  findMember,
  type IdentityMember,
  identityKey,
} from './identity';
import { type Claims, readSubject } from './jwt';
import { findProviderKeys, verifyIdentityToken } from './keys';

/**
 * Whether a credential looks like a JWT of the configured identity provider. It is not verified.
 */
export function isIdentityToken(c: RequestContext, credential: string): boolean {
  const { oidc } = c.var.config;
  return oidc !== null && oidc.audience !== null && readSubject(credential, oidc) !== null;
}

/**
 * Finds the account and the member of the person who presents a JWT of the identity provider. Takes
 * one round trip if the account is on the first shard, else two; more if an account or member is
 * created or the provider's keys have to be fetched.
 * @param mayCreateAccount whether a person without an account gets one; else they are refused
 * @throws Problem as {@link failAuthentication}; `rate_limited` after too many requests of the
 *   person; `account_inactive`, also for a suspended member; `unavailable`
 */
export async function authenticateIdentity(
  c: RequestContext,
  token: string,
  queries: PreloadQueries,
  { mayCreateAccount }: { mayCreateAccount: boolean },
) {
  const { oidc } = c.var.config;
  const subject = oidc && readSubject(token, oidc);
  const directory = openShard(c.env, DIRECTORY, c.var.cost);
  if (!oidc?.audience || subject === null || !directory) return failAuthentication(c);
  const key = await identityKey(oidc, subject);
  const [[providerKeys], [known], ...loaded] = await loadNonNull(directory, [
    findProviderKeys(directory, oidc.issuer),
    findIdentity(directory, key),
    ...(await queries(directory, callerByIdentityKey(key))),
  ]);
  const claims = await verifyIdentityToken(c, directory, token, oidc.audience, providerKeys);
  if (!claims) return failAuthentication(c);
  await limitIdentity(c, key);
  const place = { shard: DIRECTORY, database: directory, loaded };
  const isHere = known?.shard === DIRECTORY;
  const here = isHere && known.accountNumber !== null ? admit(c, known as CallerRow, place) : null;
  const found = here ?? (isHere ? null : await findMember(c, key, known, queries));
  if (!found && !mayCreateAccount) return failAuthentication(c);
  const admitted =
    found ?? (await createOwner(c, { key, directory, entry: known }, claims, queries));
  return {
    ...makePrincipal(admitted, claims),
    database: admitted.database,
    loaded: admitted.loaded,
  };
}

/** The principal and the credential reference for a verified JWT. */
function makePrincipal({ account, member, shard }: IdentityMember, { scope, exp }: Claims) {
  const expiresAt = exp * SECOND;
  const scopes = limitToRole(grantedScopes(scope), member.role);
  const principal: UserPrincipal = {
    kind: 'user',
    shard,
    account,
    member,
    token: null,
    scopes,
    expiresAt,
  };
  return {
    principal,
    reference: { kind: 'identity_token' as const, account: account.number, member, expiresAt },
  };
}

/**
 * The scopes of this service that a `scope` claim names (RFC 8693 section 4.2); all of them without
 * the claim.
 */
function grantedScopes(claim: unknown): readonly Scope[] {
  if (claim === undefined) return SCOPES;
  const named = typeof claim === 'string' ? claim.split(' ') : [];
  return SCOPES.filter((scope) => named.includes(scope));
}
