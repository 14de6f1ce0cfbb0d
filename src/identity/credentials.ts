import {
  and,
  type Column,
  eq,
  inArray,
  isNull,
  lt,
  or,
  type Placeholder,
  type SQL,
  sql,
} from 'drizzle-orm';
import { aliased, asHex, codeOf } from '../db/columns';
import type { Database, Reader } from '../db/database';
import { setTemplate } from '../db/prepare-by-account';
import {
  accounts,
  agentKeys,
  agents,
  type MemberRole,
  type MemberStatus,
  MOVE_DIRECTIONS,
  members,
  movedAccounts,
  movedCredentials,
  moves,
  userTokens,
} from '../db/schema';
import { prepareQuery, type Query } from '../db/statements';
import { Problem, unavailable } from '../errors';
import type { AccountRef, MemberRef, RequestContext } from '../http/context';
import { limitNetwork } from '../http/rate-limit';
import { isNotHeld } from '../ledger/hold';
import type { Keyring } from '../lib/secrets';
import { MINUTE } from '../lib/time';
import type { Id } from '../lib/typeid';

/**
 * Refuses a request that fails authentication.
 * @throws Problem `unauthorized`, or `rate_limited` after too many failures from the same network
 */
export async function failAuthentication(
  c: RequestContext,
  detail = 'The credential is malformed, unknown, expired or revoked. Send a valid one.',
): Promise<never> {
  await limitNetwork(c);
  throw new Problem('unauthorized', detail, { headers: { 'WWW-Authenticate': 'Bearer' } });
}

/** The hashes under which a credential may be stored: one for each root secret, newest first. */
export function hashCredential(
  keyring: Keyring,
  credential: string,
): Promise<[Uint8Array, ...Uint8Array[]]> {
  return keyring.mac('credential-hash', credential);
}

/**
 * Whether an account still arrives from another shard, so that nobody may use its copy yet; as SQL
 * on a row of `accounts`.
 */
export const isArriving = sql<boolean>`exists (
  select 1 from ${moves}
  where ${moves.account} = ${accounts.number} and ${moves.direction} = ${codeOf(MOVE_DIRECTIONS, 'in')})`;

/** The columns of an account that authentication needs. */
export const accountColumns = {
  accountNumber: aliased(accounts.number, 'account_number'),
  accountId: asHex(accounts.id),
  plan: accounts.plan,
  auditRetentionDays: accounts.auditRetentionDays,
  accountIsActive: aliased(accounts.isActive, 'account_is_active'),
  accountStoppedAt: aliased(accounts.stoppedAt, 'account_stopped_at'),
  accountIsArriving: isArriving.mapWith(Boolean).as('account_is_arriving'),
};

/** The columns of a member that authentication needs; each is null if there is no member. */
export const memberColumns = {
  memberId: sql<Id<'member'> | null>`${members.id}`.mapWith(members.id).as('member_id'),
  memberRole: sql<MemberRole | null>`${members.role}`.mapWith(members.role).as('member_role'),
  memberStatus: sql<MemberStatus | null>`${members.status}`
    .mapWith(members.status)
    .as('member_status'),
  memberLastSeenAt: sql<number | null>`${members.lastSeenAt}`.as('member_last_seen_at'),
};

/**
 * Prepares a query by the hashes of a credential: once for each number of hashes, which is that of
 * root secrets.
 */
export function prepareByHashes<Q extends Query>(
  build: (select: Reader['select'], hashes: Placeholder[]) => Q,
) {
  const prepared = new Map<number, (values: Record<string, unknown>) => Q>();
  return (hashes: Uint8Array[]): Q => {
    const names = hashes.map((_, i) => `hash${i}`);
    const placeholders = names.map((name) => sql.placeholder(name));
    const query =
      prepared.get(hashes.length) ?? prepareQuery((select) => build(select, placeholders));
    prepared.set(hashes.length, query);
    return query(Object.fromEntries(names.map((name, i) => [name, hashes[i]])));
  };
}

/** Finds the user token with one of the hashes, its account and its member. */
export const findUserToken = prepareByHashes((select, hashes) =>
  select({
    ...accountColumns,
    ...memberColumns,
    tokenMember: aliased(userTokens.member, 'token_member'),
    hash: asHex(userTokens.hash),
    token: asHex(userTokens.id),
    scopes: userTokens.scopes,
    expiresAt: userTokens.expiresAt,
    lastUsedAt: userTokens.lastUsedAt,
  })
    .from(userTokens)
    .innerJoin(accounts, eq(accounts.number, userTokens.account))
    .leftJoin(
      members,
      and(eq(members.account, userTokens.account), eq(members.id, userTokens.member)),
    )
    .where(inArray(userTokens.hash, hashes)),
);

/** Finds the agent key with one of the hashes, its agent and their account. */
export const findAgentKey = prepareByHashes((select, hashes) =>
  select({
    ...accountColumns,
    hash: asHex(agentKeys.hash),
    agentNumber: aliased(agents.number, 'agent_number'),
    agentId: asHex(agents.id),
    agentIsActive: aliased(agents.isActive, 'agent_is_active'),
    agentOwner: aliased(agents.owner, 'agent_owner'),
    expiresAt: agentKeys.expiresAt,
    lastActivityAt: agents.lastActivityAt,
  })
    .from(agentKeys)
    .innerJoin(agents, eq(agents.number, agentKeys.agent))
    .innerJoin(accounts, eq(accounts.number, agents.account))
    .where(inArray(agentKeys.hash, hashes)),
);

/** Finds the shard to which the account of a credential was moved from this one. */
export const findMovedCredential = prepareByHashes((select, hashes) =>
  select({ shard: movedAccounts.shard })
    .from(movedCredentials)
    .innerJoin(movedAccounts, eq(movedAccounts.id, movedCredentials.account))
    .where(inArray(movedCredentials.hash, hashes)),
);

/** The caller of a request as SQL, for statements that run before the caller is known. */
export interface CallerSql {
  /** The number of the account. */
  account: SQL<number>;
  /** The identifier of the agent or member; of the user token if it belongs to the account. */
  id: SQL;
  /** The identifier of the member; null if no member acts. */
  member: SQL;
  /** The identifier of the agent; no SQL at all for the credential of a user. */
  agent: SQL | null;
}

/** The caller whose credential has one of these hashes. */
export function callerByHashes(kind: 'user' | 'agent', hashes: Uint8Array[]): CallerSql {
  const names = hashes.map((_, i) => `hash${i}`);
  const form = `${kind} ${hashes.length}`;
  const template =
    callerTemplates.get(form) ??
    callerBy(
      kind,
      names.map((name) => sql.placeholder(name)),
    );
  callerTemplates.set(form, template);
  const caller = callerBy(kind, hashes);
  const values = Object.fromEntries(names.map((name, i) => [name, hashes[i]]));
  setTemplate(caller.account, { account: template.account, callerId: template.id, values });
  return caller;
}

/** The callers of {@link callerByHashes} with placeholders, by kind and number of hashes. */
const callerTemplates = new Map<string, CallerSql>();

function callerBy(kind: 'user' | 'agent', hashes: (Uint8Array | Placeholder)[]): CallerSql {
  if (kind === 'agent') {
    const isTheirs = inArray(agentKeys.hash, hashes);
    const find = (column: Column) => sql`(select ${column} from ${agentKeys}
      join ${agents} on ${agents.number} = ${agentKeys.agent} where ${isTheirs})`;
    const id = find(agents.id);
    return { account: find(agents.account) as SQL<number>, id, member: sql`null`, agent: id };
  }
  const isTheirs = inArray(userTokens.hash, hashes);
  const find = (column: Column) => sql`(select ${column} from ${userTokens} where ${isTheirs})`;
  const member = find(userTokens.member);
  return {
    account: find(userTokens.account) as SQL<number>,
    id: sql`coalesce(${member}, ${find(userTokens.id)})`,
    member,
    agent: null,
  };
}

/**
 * Makes queries that run in the same round trip as the authentication; null for one that is not
 * needed.
 */
export type PreloadQueries = (database: Database, caller: CallerSql) => Promise<(Query | null)[]>;

/** A row with the columns {@link accountColumns}. */
export type CallerAccountRow = Pick<
  ReturnType<typeof findUserToken>['_']['result'][number],
  keyof typeof accountColumns
>;

/**
 * The account of an authenticated caller.
 * @throws Problem `account_inactive`; `unavailable` while the account arrives from another shard
 */
export function activeAccount(row: CallerAccountRow): AccountRef {
  if (row.accountIsArriving) throw unavailable();
  if (!row.accountIsActive) {
    throw new Problem(
      'account_inactive',
      'The account is inactive. The operator can activate it again.',
    );
  }
  const { plan, auditRetentionDays } = row;
  const isStopped = row.accountStoppedAt !== null;
  return { number: row.accountNumber, id: row.accountId, plan, auditRetentionDays, isStopped };
}

/** A row with the columns {@link memberColumns}. */
export type CallerMemberRow = Pick<
  ReturnType<typeof findUserToken>['_']['result'][number],
  keyof typeof memberColumns
>;

/**
 * The member of an authenticated caller; null if there is none, or no more.
 * @throws Problem `account_inactive` for a suspended member
 */
export function activeMember({
  memberId: id,
  memberRole: role,
  memberStatus,
}: CallerMemberRow): MemberRef | null {
  if (memberStatus === 'suspended') {
    throw new Problem(
      'account_inactive',
      'Your membership is suspended. An owner or admin of the account can end that.',
    );
  }
  return id !== null && role !== null && memberStatus === 'active' ? { id, role } : null;
}

/** Records in the next write that a member was seen, at most once a minute. */
export function recordMemberSeen(
  database: Database,
  {
    account,
    member,
    lastSeenAt,
  }: { account: number; member: Id<'member'>; lastSeenAt: number | null },
  now: number,
): void {
  if (!isStale(lastSeenAt, now)) return;
  const isOlder = or(isNull(members.lastSeenAt), lt(members.lastSeenAt, now));
  const isMember = and(
    eq(members.account, account),
    eq(members.id, member),
    isOlder,
    isNotHeld(account),
  );
  database.piggyback(database.build.update(members).set({ lastSeenAt: now }).where(isMember));
}

/** Records in the next write that a user token was used, at most once a minute. */
export function recordTokenUsed(
  database: Database,
  { account, token, lastUsedAt }: { account: number; token: Id<'utok'>; lastUsedAt: number | null },
  now: number,
): void {
  if (!isStale(lastUsedAt, now)) return;
  const isOlder = or(isNull(userTokens.lastUsedAt), lt(userTokens.lastUsedAt, now));
  const isToken = and(
    eq(userTokens.account, account),
    eq(userTokens.id, token),
    isOlder,
    isNotHeld(account),
  );
  database.piggyback(database.build.update(userTokens).set({ lastUsedAt: now }).where(isToken));
}

/** Whether the time of last use has to be written again: once a minute is enough. */
export function isStale(last: number | null, now: number): boolean {
  return last === null || last <= now - MINUTE;
}

/**
 * When the first of some times of last use has to be written again, if those that are stale are
 * written now.
 */
export function nextRecordAt(lasts: (number | null)[], now: number): number {
  const recorded = lasts.map((last) => (last === null || isStale(last, now) ? now : last));
  return Math.min(...recorded) + MINUTE;
}
