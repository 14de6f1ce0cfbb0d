import { and, eq, lte, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import type { Reader } from '../db/database';
import { accounts, agents, MOVE_DIRECTIONS, permissions } from '../db/schema';
import type { Runtime } from '../env';
import { type Entry, SERVICE_ORIGIN } from '../ledger/entry';
import type { Ledger } from '../ledger/ledger';
import { toHex } from '../lib/bytes';
import type { JsonObject } from '../lib/json';
import { logFailure } from '../lib/log';
import { type Id, idBytes, withPrefix } from '../lib/typeid';
import { draftPermissionEntry } from './draft-entry';

/** Requests, and tokens, that one slice writes down. */
const SLICE = 100;

interface ExpiryContext {
  reader: Reader;
  ledger: Ledger;
  runtime: Runtime;
}

/**
 * Writes down a slice of what has run out: requests that nobody decided, and tokens that nobody used. Each gets one
 * `expire` entry. (A token used in part needs none, and is expired by its time alone.)
 * @returns whether there may be more
 */
export async function expireSlice(context: ExpiryContext): Promise<boolean> {
  const { reader, ledger, runtime } = context;
  const now = runtime.now();
  const [requests, tokens] = await reader.load([
    findDue(reader, 'permissions_due', now),
    findDue(reader, 'tokens_due', now),
  ]);
  const rows = [...requests, ...tokens];
  const orphans = rows.filter(({ hasOwner }) => !hasOwner);
  if (orphans.length > 0) await ledger.discardOrphans(orphans);
  const entries = rows.filter(({ hasOwner }) => hasOwner).flatMap((row) => draftExpiry(runtime, row, now) ?? []);
  if (!(await expire(ledger, entries, now))) {
    // One of them met another sweep or a deletion: the others shall not wait for it.
    for (const entry of entries) await expire(ledger, [entry], now);
  }
  return requests.length === SLICE || tokens.length === SLICE;
}

/** Expires what the entries tell of, all or, when one of them lost, none. */
async function expire(ledger: Ledger, entries: Entry[], now: number): Promise<boolean> {
  const [first, ...rest] = entries;
  if (!first) return true;
  const requests = entries.filter(({ details }) => details.expired === 'request');
  const tokens = entries.filter(({ details }) => details.expired === 'token');
  const committed = await ledger.commit({
    changes: (write) => [
      write
        .update(permissions)
        .set({ status: 'expired', lastEntry: sql`unhex(due.value ->> 2)`, updatedAt: now })
        .from(dueRows(requests))
        .where(and(isDue, eq(permissions.status, 'pending'), lte(permissions.expiresAt, now))),
      write
        .update(permissions)
        .set({ tokenStatus: 'expired', lastEntry: sql`unhex(due.value ->> 2)`, updatedAt: now })
        .from(dueRows(tokens))
        .where(
          and(
            isDue,
            eq(permissions.tokenStatus, 'active'),
            eq(permissions.tokenUses, 0),
            lte(permissions.tokenExpiresAt, now),
          ),
        ),
    ],
    entries: [first, ...rest],
    answer: null,
  });
  return committed !== null;
}

/** Those of an account on its way to this shard run out where it still is. */
const isAtHome = sql`account not in (select account from moves where direction = ${codeOf(MOVE_DIRECTIONS, 'in')})`;

/** The oldest due rows, as the partial index `name` lists them. */
function findDue(reader: Reader, name: 'permissions_due' | 'tokens_due', now: number) {
  const due =
    name === 'permissions_due'
      ? sql`status = 0 and expires_at <= ${now} and ${isAtHome} order by expires_at`
      : sql`token_status = 0 and token_uses = 0 and token_expires_at <= ${now} and ${isAtHome} order by token_expires_at`;
  const slice = sql`(
    select account, id from permissions indexed by ${sql.raw(name)} where ${due} limit ${SLICE}
  ) as due`;
  return reader
    .select({
      account: permissions.account,
      id: permissions.id,
      action: permissions.action,
      resource: permissions.resource,
      // Read as text: a row that is damaged must not keep the others from their turn.
      scope: sql<string>`coalesce(${permissions.grantedScope}, ${permissions.scope})`.as('scope_text'),
      policyId: permissions.policyId,
      expired: sql<'request' | 'token'>`iif(${permissions.tokenStatus} is null, 'request', 'token')`.as('expired'),
      hasOwner: sql<number>`${agents.number} is not null and ${accounts.number} is not null`.as('has_owner'),
    })
    .from(slice)
    .crossJoin(permissions)
    .leftJoin(agents, eq(agents.number, permissions.agent))
    .leftJoin(accounts, eq(accounts.number, permissions.account))
    .where(sql`${permissions.account} = due.account and ${permissions.id} = due.id`);
}

interface DueRow {
  account: number;
  id: Id<'perm'>;
  action: string;
  resource: string;
  scope: string;
  policyId: string | null;
  expired: 'request' | 'token';
}

function draftExpiry(runtime: Runtime, row: DueRow, now: number): Entry | null {
  try {
    return draftPermissionEntry({ runtime, origin: SERVICE_ORIGIN }, row, 'expire', now, {
      scope: JSON.parse(row.scope) as JsonObject,
      policy_id: row.policyId,
      ...(row.expired === 'token' && { token_id: withPrefix('token', row.id) }),
      expired: row.expired,
    });
  } catch (error) {
    logFailure('permission_unreadable', error, { permission: row.id });
    return null;
  }
}

function dueRows(entries: Entry[]) {
  const rows = entries.map(({ account, permission, id }) => [account, toHex(idBytes(permission)), toHex(idBytes(id))]);
  return sql`json_each(${JSON.stringify(rows)}) as due`;
}

const isDue = sql`${permissions.account} = due.value ->> 0 and ${permissions.id} = unhex(due.value ->> 1)`;
