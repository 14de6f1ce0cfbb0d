import { and, eq, lte, sql } from 'drizzle-orm';
import type { Reader } from '../db/database';
import { agents, permissions } from '../db/schema';
import type { Runtime } from '../env';
import { type Entry, SERVICE_ORIGIN } from '../ledger/entry';
import type { Ledger } from '../ledger/ledger';
import { toHex } from '../lib/bytes';
import { idBytes, withPrefix } from '../lib/typeid';
import { draftEvent } from './event';
import { type PermissionRow, permissionColumns } from './permission';

const SLICE = 100;

/**
 * Writes down what has run out: requests that nobody decided, and tokens that nobody used. Each gets one `expire` entry.
 * (A token used in part needs none, and is expired by its time alone.)
 * @returns how many ran out in this slice; fewer than {@link SLICE} when nothing is left
 */
export async function expireSlice({
  reader,
  ledger,
  runtime,
}: {
  reader: Reader;
  ledger: Ledger;
  runtime: Runtime;
}): Promise<{ expired: number; more: boolean }> {
  const now = runtime.now();
  const [requests, tokens] = await reader.load([
    findDue(reader, 'permissions_due', now),
    findDue(reader, 'tokens_due', now),
  ]);
  const requestEntries = requests.map((row) => draftExpiry(runtime, row, 'request', now));
  const tokenEntries = tokens.map((row) => draftExpiry(runtime, row, 'token', now));
  const [first, ...rest] = [...requestEntries, ...tokenEntries];
  if (!first) return { expired: 0, more: false };
  // A slice that loses met another sweep or a deletion; the next sweep finds what is left.
  const committed = await ledger.commit({
    changes: (write) => [
      write
        .update(permissions)
        .set({ status: 'expired', lastEntry: sql`unhex(due.value ->> 2)`, updatedAt: now })
        .from(dueRows(requestEntries))
        .where(and(isDue, eq(permissions.status, 'pending'), lte(permissions.expiresAt, now))),
      write
        .update(permissions)
        .set({ tokenStatus: 'expired', lastEntry: sql`unhex(due.value ->> 2)`, updatedAt: now })
        .from(dueRows(tokenEntries))
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
  });
  return {
    expired: committed ? rest.length + 1 : 0,
    more: committed !== null && (requests.length === SLICE || tokens.length === SLICE),
  };
}

/** The oldest due rows, of agents and accounts that still exist, as the partial index `name` lists them. */
function findDue(reader: Reader, name: 'permissions_due' | 'tokens_due', now: number) {
  const due =
    name === 'permissions_due'
      ? sql`status = 0 and expires_at <= ${now} order by expires_at`
      : sql`token_status = 0 and token_uses = 0 and token_expires_at <= ${now} order by token_expires_at`;
  const slice = sql`(
    select account, id from permissions indexed by ${sql.raw(name)}
    where exists (select 1 from agents where agents.number = permissions.agent)
      and exists (select 1 from accounts where accounts.number = permissions.account)
      and ${due} limit ${SLICE}
  ) as due`;
  return reader
    .select(permissionColumns)
    .from(slice)
    .innerJoin(permissions, sql`${permissions.account} = due.account and ${permissions.id} = due.id`)
    .innerJoin(agents, eq(agents.number, permissions.agent));
}

function draftExpiry(runtime: Runtime, row: PermissionRow, expired: 'request' | 'token', now: number): Entry {
  return draftEvent({ runtime, origin: SERVICE_ORIGIN }, row, 'expire', now, {
    scope: row.grantedScope ?? row.scope,
    policy_id: row.policyId,
    ...(expired === 'token' && { token_id: withPrefix('token', row.id) }),
    expired,
  });
}

function dueRows(entries: Entry[]) {
  const rows = entries.map(({ account, permission, id }) => [account, toHex(idBytes(permission)), toHex(idBytes(id))]);
  return sql`json_each(${JSON.stringify(rows)}) as due`;
}

const isDue = sql`${permissions.account} = due.value ->> 0 and ${permissions.id} = unhex(due.value ->> 1)`;
