import { eq, type SQL, sql } from 'drizzle-orm';
import { decodeJwt } from 'jose';
import { type Database, loadNonNull, type Reader } from '../../db/database';
import { leastFullShard } from '../../db/least-full-shard';
import { accounts, identities } from '../../db/schema';
import { listShards, openShard } from '../../db/shards';
import { unavailable } from '../../errors';
import { SERVICE_AUTHORITY } from '../../ledger/authority';
import { Ledger } from '../../ledger/ledger';
import { sha256 } from '../../lib/bytes';
import { SECOND } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import { type AccountRef, newId, type RequestContext, SCOPES, type Scope, type UserPrincipal } from '../context';
import {
  type AccountRow,
  accountColumns,
  activeAccount,
  type CallerSql,
  failAuthentication,
  type PreloadQueries,
} from '../credentials';
import { text } from '../fields';
import { limitIdentity } from '../rate-limit';
import { type Claims, readSubject } from './jwt';
import { findProviderKeys, verifyIdentityToken } from './keys';

/** The shard with the directory of people (table `identities`), which says on which shard each one's account is. */
const DIRECTORY = '00';

/** The account of a person, and its shard. */
interface AccountLocation {
  account: Id<'user'>;
  shard: string;
}

/** Whether a credential looks like a JWT of the configured identity provider. It is not verified. */
export function isIdentityToken(c: RequestContext, credential: string): boolean {
  const { oidc } = c.var.config;
  return oidc !== null && readSubject(credential, oidc) !== null;
}

/**
 * The `scope` claim of a JWT that is not verified yet, as JSON: the text `null` if it has none. Returns null for every
 * other credential.
 */
export function claimedScope(c: RequestContext, credential: string): string | null {
  return isIdentityToken(c, credential) ? JSON.stringify(decodeJwt(credential).scope ?? null) : null;
}

/**
 * Finds the account of the person who presents a JWT of the identity provider. Takes one round trip if the account is
 * on the first shard, else two; more if an account is created or the provider's keys have to be fetched.
 * @param mayCreateAccount whether a person without an account gets one; else they are refused
 * @throws Problem as {@link failAuthentication}; `rate_limited` after too many requests of the person;
 *   `account_inactive`, `unavailable`
 */
export async function authenticateIdentity(
  c: RequestContext,
  token: string,
  queries: PreloadQueries,
  mayCreateAccount: boolean,
) {
  const { oidc } = c.var.config;
  const subject = oidc && readSubject(token, oidc);
  const directory = openShard(c.env, DIRECTORY, c.var.cost);
  if (!oidc || subject === null || !directory) return failAuthentication(c);
  const key = await sha256(JSON.stringify([oidc.issuer, subject]));
  const [[providerKeys], [known], ...loaded] = await loadNonNull(directory, [
    findProviderKeys(directory, oidc.issuer),
    findIdentity(directory, key),
    ...(await queries(directory, callerByIdentityKey(key))),
  ]);
  const claims = await verifyIdentityToken(c, directory, token, providerKeys);
  if (!claims) return failAuthentication(c);
  await limitIdentity(c, key);
  if (known?.shard === DIRECTORY && known.accountNumber !== null) {
    return { ...makePrincipal(activeAccount(known as AccountRow), DIRECTORY, claims), database: directory, loaded };
  }
  const isElsewhere = known && known.shard !== DIRECTORY;
  if (!isElsewhere && !mayCreateAccount) return failAuthentication(c);
  const location = isElsewhere ? known : await createAccount(c, directory, key, claims);
  const found = await loadAccount(c, location, queries, claims);
  if (found) return found;
  if (!mayCreateAccount) return failAuthentication(c);
  // The account was deleted, or a crash came between the writes to the directory and to the shard.
  const created = await loadAccount(c, await createAccount(c, directory, key, claims), queries, claims);
  if (!created) throw unavailable();
  return created;
}

function findIdentity(reader: Reader, key: Uint8Array) {
  return reader
    .select({ account: identities.account, shard: identities.shard, ...accountColumns })
    .from(identities)
    .leftJoin(accounts, eq(accounts.id, identities.account))
    .where(eq(identities.key, key));
}

function callerByIdentityKey(key: Uint8Array): CallerSql {
  return callerByAccountId(sql`(select ${identities.account} from ${identities} where ${eq(identities.key, key)})`);
}

function callerByAccountId(id: SQL): CallerSql {
  return { id, account: sql<number>`(select ${accounts.number} from ${accounts} where ${accounts.id} = ${id})` };
}

/** Loads an account from its shard, with the rows of the preload queries; null if the account does not exist. */
async function loadAccount(
  c: RequestContext,
  { account, shard }: AccountLocation,
  queries: PreloadQueries,
  claims: Claims,
) {
  const database = openShard(c.env, shard, c.var.cost);
  if (!database) throw new Error(`shard ${shard} is in the directory and not bound`);
  const [[row], ...loaded] = await loadNonNull(database, [
    database.select(accountColumns).from(accounts).where(eq(accounts.id, account)),
    ...(await queries(database, callerByAccountId(sql`${sql.param(account, accounts.id)}`))),
  ]);
  return row ? { ...makePrincipal(activeAccount(row), shard, claims), database, loaded } : null;
}

async function chooseShard(c: RequestContext): Promise<string> {
  const shards = listShards(c.env).map((name) => ({
    name,
    size: async () => openShard(c.env, name, c.var.cost)?.size() ?? Number.POSITIVE_INFINITY,
  }));
  return (await leastFullShard(shards)).name;
}

/**
 * Creates the account of a person, on the least full shard. The directory is written first and decides the identifier
 * and the shard, so that concurrent requests create the same account.
 */
async function createAccount(
  c: RequestContext,
  directory: Database,
  key: Uint8Array,
  claims: Claims,
): Promise<AccountLocation> {
  const { runtime, cost } = c.var;
  const now = runtime.now();
  const chosen = { account: newId(runtime, 'user'), shard: await chooseShard(c) };
  const [[home = chosen]] = await new Ledger(directory, SERVICE_AUTHORITY).write({
    changes: (write) => [
      write
        .insert(identities)
        .values({ key, ...chosen, createdAt: now })
        // Changes nothing, but makes RETURNING give the existing row.
        .onConflictDoUpdate({ target: identities.key, set: { key: sql`excluded.key` } })
        .returning({ account: identities.account, shard: identities.shard }),
    ],
  });
  const database = openShard(c.env, home.shard, cost);
  if (!database) throw new Error(`shard ${home.shard} is in the directory and not bound`);
  const row = {
    id: home.account,
    email: readEmail(claims),
    name: text(1, 255).safeParse(claims.name).data ?? null,
    plan: 'free' as const,
    isActive: true,
    createdAt: now,
    updatedAt: now,
  };
  await new Ledger(database, SERVICE_AUTHORITY).write({
    changes: (write) => [write.insert(accounts).values(row).onConflictDoNothing()],
  });
  return home;
}

/** The `email` claim if it looks like an address, else an empty text. It is displayed, and authorizes nothing. */
function readEmail({ email }: Claims): string {
  return typeof email === 'string' && email.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(email) ? email : '';
}

/** The principal and the credential reference for a verified JWT. */
function makePrincipal(account: AccountRef, shard: string, { scope, exp }: Claims) {
  const expiresAt = exp * SECOND;
  const scopes = grantedScopes(scope);
  const principal: UserPrincipal = { kind: 'user', shard, account, token: null, scopes, expiresAt };
  return { principal, reference: { kind: 'identity_token' as const, account: account.number, expiresAt } };
}

/** The scopes of this service that a `scope` claim names (RFC 8693 section 4.2); all of them without the claim. */
function grantedScopes(claim: unknown): readonly Scope[] {
  if (claim === undefined) return SCOPES;
  const named = typeof claim === 'string' ? claim.split(' ') : [];
  return SCOPES.filter((scope) => named.includes(scope));
}
