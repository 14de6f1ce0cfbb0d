import { type Column, eq, type SQL, sql } from 'drizzle-orm';
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
import {
  DIRECTORY,
  type DirectoryEntry,
  isEntry,
  JOINING_TIME,
  openShardOf,
  wasMadeByJoining,
  wasRemovedSince,
} from './directory';
import { type Claims, readSubject } from './jwt';
import { findProviderKeys, verifyIdentityToken } from './keys';

/** The member as whom a person acts, and where. */
export interface IdentityMember {
  account: AccountRef;
  member: MemberRef;
  shard: string;
  database: Database;
  /** The rows of each preload query. */
  loaded: unknown[];
}

/** A person whom the identity provider has named. */
export interface Identity {
  /** The person's key in `identities`. */
  key: Uint8Array;
  directory: Database;
  /** What the directory says. It is a hint: the member's row decides. */
  entry: DirectoryEntry | undefined;
  /** The member as whom the person acts; null for somebody who is new, or no longer a member. */
  member: IdentityMember | null;
}

type CallerRow = AccountRow & MemberRow;

/** The condition of the partial index `members_by_identity`, word for word. */
const isNotRemoved = sql`${members.status} <> ${codeOf(MEMBER_STATUSES, 'removed')}`;

/** Whether a credential looks like a JWT of the configured identity provider. It is not verified. */
export function isIdentityToken(c: RequestContext, credential: string): boolean {
  const { oidc } = c.var.config;
  return oidc !== null && oidc.audience !== null && readSubject(credential, oidc) !== null;
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
  const admitted = found ?? (await createOwner(c, { key, directory, entry: known }, claims, queries));
  return { ...makePrincipal(admitted, claims), database: admitted.database, loaded: admitted.loaded };
}

/**
 * Finds out what is known about a person whom a verified token of the identity provider names.
 * @throws Problem `account_inactive`, also for a suspended member; `unavailable`
 */
export async function readIdentity(c: RequestContext, { iss, sub }: Claims): Promise<Identity> {
  const directory = openShard(c.env, DIRECTORY, c.var.cost);
  if (!directory || iss === undefined) throw unavailable();
  const key = await identityKey({ issuer: iss }, sub);
  await limitIdentity(c, key);
  const [[entry]] = await directory.load([directory.select().from(identities).where(eq(identities.key, key))]);
  return { key, directory, entry, member: await findMember(c, key, entry) };
}

/** A person's key in `identities`. */
function identityKey({ issuer }: { issuer: string }, subject: string): Promise<Uint8Array> {
  return sha256(JSON.stringify([issuer, subject]));
}

const noQueries: PreloadQueries = async () => [];

/** Finds the member with an identity in the account that the directory names; null if there is none. */
async function findMember(
  c: RequestContext,
  key: Uint8Array,
  entry: DirectoryEntry | undefined,
  queries = noQueries,
): Promise<IdentityMember | null> {
  if (!entry) return null;
  const database = openShardOf(c, entry);
  const found = await loadCaller(database, entry.account, key, queries);
  return found && admit(c, found.row, { shard: entry.shard, database, loaded: found.loaded });
}

/**
 * Admits the member of a row, and records that the member was seen; null if there is none.
 * @throws Problem `account_inactive`, also for a suspended member; `unavailable`
 */
function admit(
  c: RequestContext,
  row: CallerRow,
  place: Pick<IdentityMember, 'shard' | 'database' | 'loaded'>,
): IdentityMember | null {
  const account = activeAccount(row);
  const member = activeMember(row);
  if (!member) return null;
  const seen = { account: account.number, member: member.id, lastSeenAt: row.memberLastSeenAt };
  recordMemberSeen(place.database, seen, c.var.runtime.now());
  return { account, member, ...place };
}

/**
 * Makes an account with a person as its owner, for somebody who is a member of no account.
 * @throws Problem `unavailable`, also while the person joins another account
 */
export async function createOwner(
  c: RequestContext,
  identity: Omit<Identity, 'member'>,
  claims: Claims,
  queries = noQueries,
): Promise<IdentityMember> {
  const entry = await createAccount(c, identity, claims);
  const owner = await findMember(c, identity.key, entry, queries);
  if (!owner) throw unavailable();
  return owner;
}

/** Selects the account of an identity as the directory has it; and the member, if that account is on the same shard. */
function findIdentity(reader: Reader, key: Uint8Array) {
  return reader
    .select({
      account: identities.account,
      shard: identities.shard,
      createdAt: identities.createdAt,
      ...accountColumns,
      ...memberColumns,
    })
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
 * members, or a crash came between. A person who was removed from the account that the directory names gets a new one,
 * and so does a person who began to join it and did not finish within {@link JOINING_TIME}.
 * @throws Problem `unavailable` while the person joins the account that the directory names
 */
async function createAccount(
  c: RequestContext,
  { key, directory, entry }: Omit<Identity, 'member'>,
  claims: Claims,
): Promise<DirectoryEntry> {
  const { runtime } = c.var;
  const now = runtime.now();
  const chosen = { account: newId(runtime, 'user'), shard: await chooseShard(c), createdAt: now };
  const wasMember = entry !== undefined && (await wasRemovedSince(c, entry, key));
  const isJoined = entry !== undefined && wasMadeByJoining(entry);
  if (isJoined && !wasMember && now < entry.createdAt + JOINING_TIME) throw unavailable();
  const isLeft = entry && (wasMember || isJoined) ? isEntry(key, entry) : sql`false`;
  const replace = (column: Column) => sql`iif(${isLeft}, excluded.${sql.identifier(column.name)}, ${column})`;
  const [[home = chosen]] = await new Ledger(directory, SERVICE_AUTHORITY).write({
    changes: (write) => [
      write
        .insert(identities)
        .values({ key, ...chosen })
        // Usually changes nothing, but makes RETURNING give the existing row.
        .onConflictDoUpdate({
          target: identities.key,
          set: {
            account: replace(identities.account),
            shard: replace(identities.shard),
            createdAt: replace(identities.createdAt),
          },
        })
        .returning({ account: identities.account, shard: identities.shard, createdAt: identities.createdAt }),
    ],
  });
  // A concurrent request made the person join an account, which is not the person's own.
  if (wasMadeByJoining(home)) return home;
  const database = openShardOf(c, home);
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

/** The `email` claim if it looks like an address, else an empty text. */
export function readEmail({ email }: Claims): string {
  return typeof email === 'string' && email.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(email) ? email : '';
}

/** The principal and the credential reference for a verified JWT. */
function makePrincipal({ account, member, shard }: IdentityMember, { scope, exp }: Claims) {
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
