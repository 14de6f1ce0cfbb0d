import { and, type Column, eq, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { type Database, loadNonNull, type Reader } from '../../db/database';
import { leastFullShard } from '../../db/least-full-shard';
import { accounts, identities, MEMBER_STATUSES, members } from '../../db/schema';
import { listShards, openShard } from '../../db/shards';
import { unavailable } from '../../errors';
import { SERVICE_AUTHORITY } from '../../ledger/authority';
import { Ledger } from '../../ledger/ledger';
import { sha256 } from '../../lib/bytes';
import { SECOND } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import {
  type AccountRef,
  type MemberRef,
  newId,
  type RequestContext,
  SCOPES,
  type Scope,
  type UserPrincipal,
} from '../context';
import {
  type AccountRow,
  accountColumns,
  activeAccount,
  activeMember,
  type CallerSql,
  failAuthentication,
  type MemberRow,
  memberColumns,
  type PreloadQueries,
  recordMemberSeen,
} from '../credentials';
import { text } from '../fields';
import { limitIdentity } from '../rate-limit';
import { limitToRole } from '../roles';
import { type Claims, readSubject } from './jwt';
import { findProviderKeys, verifyIdentityToken } from './keys';

/** The shard with the directory of people (table `identities`), which says on which shard each one's account is. */
const DIRECTORY = '00';

/** The account of a person, and its shard. */
interface AccountLocation {
  account: Id<'user'>;
  shard: string;
}

type CallerRow = AccountRow & MemberRow;

/** The condition of the partial index `members_by_identity`, word for word. */
const isNotRemoved = sql`${members.status} <> ${codeOf(MEMBER_STATUSES, 'removed')}`;

/** Whether a credential looks like a JWT of the configured identity provider. It is not verified. */
export function isIdentityToken(c: RequestContext, credential: string): boolean {
  const { oidc } = c.var.config;
  return oidc !== null && readSubject(credential, oidc) !== null;
}

/**
 * Finds the account and the member of the person who presents a JWT of the identity provider. Takes one round trip if
 * the account is on the first shard, else two; more if an account or member is created or the provider's keys have to be
 * fetched.
 * @param mayCreateAccount whether a person without an account gets one; else they are refused
 * @throws Problem as {@link failAuthentication}; `rate_limited` after too many requests of the person;
 *   `account_inactive`, also for a suspended member; `unavailable`
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
  const admit = (row: CallerRow, shard: string, database: Database, loaded: unknown[]) => {
    const account = activeAccount(row);
    const member = activeMember(row);
    if (!member) return null;
    recordMemberSeen(
      database,
      { account: account.number, member: member.id, lastSeenAt: row.memberLastSeenAt },
      c.var.runtime.now(),
    );
    return { ...makePrincipal(account, member, shard, claims), database, loaded };
  };
  const isHere = known?.shard === DIRECTORY && known.accountNumber !== null;
  const admitted = isHere ? admit(known as CallerRow, DIRECTORY, directory, loaded) : null;
  if (admitted) return admitted;
  const find = async (location: AccountLocation) => {
    const database = openShard(c.env, location.shard, c.var.cost);
    if (!database) throw new Error(`shard ${location.shard} is in the directory and not bound`);
    const found = await loadCaller(database, location.account, key, queries);
    return found && admit(found.row, location.shard, database, found.loaded);
  };
  const found = known && known.shard !== DIRECTORY ? await find(known) : null;
  if (found) return found;
  if (!mayCreateAccount) return failAuthentication(c);
  const created = await find(await createAccount(c, directory, key, claims, known));
  if (!created) throw unavailable();
  return created;
}

/** Selects the account of an identity as the directory has it; and the member, if that account is on the same shard. */
function findIdentity(reader: Reader, key: Uint8Array) {
  return reader
    .select({ account: identities.account, shard: identities.shard, ...accountColumns, ...memberColumns })
    .from(identities)
    .leftJoin(accounts, eq(accounts.id, identities.account))
    .leftJoin(members, isMemberWithIdentity(key))
    .where(eq(identities.key, key));
}

/** Whether a row of `members` is the member of the account in `accounts` who signs in with an identity. */
function isMemberWithIdentity(key: Uint8Array) {
  return sql`${members.account} = ${accounts.number} and ${members.identity} = ${key} and ${isNotRemoved}`;
}

function callerByIdentityKey(key: Uint8Array): CallerSql {
  return callerByAccountId(
    sql`(select ${identities.account} from ${identities} where ${eq(identities.key, key)})`,
    key,
  );
}

function callerByAccountId(id: SQL, key: Uint8Array): CallerSql {
  return {
    account: sql<number>`(select ${accounts.number} from ${accounts} where ${accounts.id} = ${id})`,
    id: sql`(select ${members.id} from ${accounts} join ${members} on ${isMemberWithIdentity(key)}
      where ${accounts.id} = ${id})`,
  };
}

/** Loads an account and the member with an identity, with the rows of the preload queries; null without the account. */
async function loadCaller(database: Database, id: Id<'user'>, key: Uint8Array, queries: PreloadQueries) {
  const [[row], ...loaded] = await loadNonNull(database, [
    database
      .select({ ...accountColumns, ...memberColumns })
      .from(accounts)
      .leftJoin(members, isMemberWithIdentity(key))
      .where(eq(accounts.id, id)),
    ...(await queries(database, callerByAccountId(sql`${sql.param(id, accounts.id)}`, key))),
  ]);
  return row ? { row, loaded } : null;
}

async function chooseShard(c: RequestContext): Promise<string> {
  const shards = listShards(c.env).map((name) => ({
    name,
    size: async () => openShard(c.env, name, c.var.cost)?.size() ?? Number.POSITIVE_INFINITY,
  }));
  return (await leastFullShard(shards)).name;
}

/**
 * Creates the account of a person, on the least full shard, with the person as its owner. The directory is written first
 * and decides the identifier and the shard, so that concurrent requests create the same account.
 *
 * Does the missing part where an account exists without a member for the person: it was created before accounts had
 * members, or a crash came between. A person who was removed from the account that the directory names gets a new one.
 * @param known the entry of the directory
 */
async function createAccount(
  c: RequestContext,
  directory: Database,
  key: Uint8Array,
  claims: Claims,
  known: AccountLocation | undefined,
): Promise<AccountLocation> {
  const { runtime, cost } = c.var;
  const now = runtime.now();
  const chosen = { account: newId(runtime, 'user'), shard: await chooseShard(c) };
  const left = known && (await wasRemoved(c, known, key)) ? sql.param(known.account, identities.account) : null;
  const replace = (column: Column) =>
    sql`iif(${identities.account} = ${left}, excluded.${sql.identifier(column.name)}, ${column})`;
  const [[home = chosen]] = await new Ledger(directory, SERVICE_AUTHORITY).write({
    changes: (write) => [
      write
        .insert(identities)
        .values({ key, ...chosen, createdAt: now })
        // Usually changes nothing, but makes RETURNING give the existing row.
        .onConflictDoUpdate({
          target: identities.key,
          set: { account: replace(identities.account), shard: replace(identities.shard) },
        })
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
  const owner = {
    id: newId(runtime, 'member'),
    email: row.email || null,
    name: row.name,
    role: 'owner' as const,
    status: 'active' as const,
    identity: key,
    activeSince: now,
    createdAt: now,
    updatedAt: now,
  };
  const account = sql`(select ${accounts.number} from ${accounts} where ${eq(accounts.id, home.account)})`;
  // Somebody may have invited another member with this address.
  const email = sql`iif(
    exists (
      select 1 from ${members}
      where ${members.account} = ${account} and ${members.email} = ${owner.email} collate nocase and ${isNotRemoved}
    ), null, ${owner.email})`;
  await new Ledger(database, SERVICE_AUTHORITY).write({
    changes: (write) => [
      write.insert(accounts).values(row).onConflictDoNothing(),
      // A concurrent request may have inserted the owner.
      write
        .insert(members)
        .values({ ...owner, account, email })
        .onConflictDoNothing(),
    ],
  });
  return home;
}

/** Whether the person was a member of an account and was removed. */
async function wasRemoved(c: RequestContext, { account, shard }: AccountLocation, key: Uint8Array): Promise<boolean> {
  const database = openShard(c.env, shard, c.var.cost);
  if (!database) throw new Error(`shard ${shard} is in the directory and not bound`);
  const [found] = await database.load([
    database
      .select({ id: members.id })
      .from(members)
      .innerJoin(accounts, eq(accounts.number, members.account))
      .where(and(eq(accounts.id, account), eq(members.identity, key), eq(members.status, 'removed')))
      .limit(1),
  ]);
  return found.length > 0;
}

/** The `email` claim if it looks like an address, else an empty text. It is displayed, and authorizes nothing. */
function readEmail({ email }: Claims): string {
  return typeof email === 'string' && email.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(email) ? email : '';
}

/** The principal and the credential reference for a verified JWT. */
function makePrincipal(account: AccountRef, member: MemberRef, shard: string, { scope, exp }: Claims) {
  const expiresAt = exp * SECOND;
  const scopes = limitToRole(grantedScopes(scope), member.role);
  const principal: UserPrincipal = { kind: 'user', shard, account, member, token: null, scopes, expiresAt };
  return { principal, reference: { kind: 'identity_token' as const, account: account.number, member, expiresAt } };
}

/** The scopes of this service that a `scope` claim names (RFC 8693 section 4.2); all of them without the claim. */
function grantedScopes(claim: unknown): readonly Scope[] {
  if (claim === undefined) return SCOPES;
  const named = typeof claim === 'string' ? claim.split(' ') : [];
  return SCOPES.filter((scope) => named.includes(scope));
}
