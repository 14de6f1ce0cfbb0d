import { eq, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { type Database, loadNonNull, type Reader } from '../../db/database';
import { accounts, identities, MEMBER_STATUSES, members } from '../../db/schema';
import { openShard } from '../../db/shards';
import { unavailable } from '../../errors';
import type { AccountRef, MemberRef, RequestContext } from '../../http/context';
import { limitIdentity } from '../../http/rate-limit';
import { sha256 } from '../../lib/bytes';
import type { Id } from '../../lib/typeid';
import {
  accountColumns,
  activeAccount,
  activeMember,
  type CallerAccountRow,
  type CallerMemberRow,
  type CallerSql,
  memberColumns,
  type PreloadQueries,
  recordMemberSeen,
} from '../credentials';
import { DIRECTORY, type DirectoryEntry, openShardOf } from './directory';
import type { Claims } from './jwt';

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
  /** The entry of the directory. It is a hint: the member's row decides. */
  entry: DirectoryEntry | undefined;
  /** The member as whom the person acts; null for somebody who is new, or no longer a member. */
  member: IdentityMember | null;
}

export type CallerRow = CallerAccountRow & CallerMemberRow;

/** The condition of the partial index `members_by_identity`, word for word. */
export const isNotRemoved = sql`${members.status} <> ${codeOf(MEMBER_STATUSES, 'removed')}`;

/**
 * Finds out what is known about a person whom a verified token of the identity provider names.
 * @throws Problem `account_inactive`, also for a suspended member; `unavailable`
 */
export async function readIdentity(c: RequestContext, { iss, sub }: Claims): Promise<Identity> {
  const directory = openShard(c.env, DIRECTORY, c.var.cost);
  if (!directory || iss === undefined) throw unavailable();
  const key = await identityKey({ issuer: iss }, sub);
  await limitIdentity(c, key);
  const [[entry]] = await directory.load([
    directory.select().from(identities).where(eq(identities.key, key)),
  ]);
  return { key, directory, entry, member: await findMember(c, key, entry) };
}

/** A person's key in `identities`. */
export function identityKey({ issuer }: { issuer: string }, subject: string): Promise<Uint8Array> {
  return sha256(JSON.stringify([issuer, subject]));
}

export const noQueries: PreloadQueries = async () => [];

/**
 * Finds the member with an identity in the account that the directory names; null if there is none.
 */
export async function findMember(
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
export function admit(
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
 * Selects the account of an identity as the directory has it; and the member, if that account is on
 * the same shard.
 */
export function findIdentity(reader: Reader, key: Uint8Array) {
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

/**
 * Whether a row of `members` is the member of the account in `accounts` who signs in with an
 * identity.
 */
function isMemberWithIdentity(key: Uint8Array) {
  return sql`${members.account} = ${accounts.number} and ${members.identity} = ${key} and ${isNotRemoved}`;
}

export function callerByIdentityKey(key: Uint8Array): CallerSql {
  return callerByAccountId(
    sql`(select ${identities.account} from ${identities} where ${eq(identities.key, key)})`,
    key,
  );
}

function callerByAccountId(id: SQL, key: Uint8Array): CallerSql {
  const member = sql`(
    select ${members.id} from ${accounts} join ${members} on ${isMemberWithIdentity(key)}
    where ${accounts.id} = ${id})`;
  return {
    account: sql<number>`(select ${accounts.number} from ${accounts} where ${accounts.id} = ${id})`,
    id: member,
    member,
    agent: null,
  };
}

/**
 * Loads an account and the member with an identity, with the rows of the preload queries; null
 * without the account.
 */
async function loadCaller(
  database: Database,
  id: Id<'user'>,
  key: Uint8Array,
  queries: PreloadQueries,
) {
  const [[row], ...loaded] = await loadNonNull(database, [
    database
      .select({ ...accountColumns, ...memberColumns })
      .from(accounts)
      .leftJoin(members, isMemberWithIdentity(key))
      .where(eq(accounts.id, id)),
    ...(await queries(database, callerByAccountId(sql`${sql.param(id, accounts.id)}`, key))),
  ]);
  if (!row) return null;
  return { row, loaded };
}
