import { and, eq, or, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import type { Database } from '../../db/database';
import { agents, erasures, MOVE_DIRECTIONS, moves, PERMISSION_STATUSES } from '../../db/schema';
import { LOG_SPAN } from '../../ledger/append';
import { idBytes } from '../../lib/typeid';
import { raw } from './moved-table';
import type { MoverShard } from './shard';
import type { Move } from './turns';

const into = codeOf(MOVE_DIRECTIONS, 'in');
const pending = codeOf(PERMISSION_STATUSES, 'pending');

/**
 * Whether the target shard still erases data that this account left there before. Such an erasure
 * would also delete stored answers of the new copy.
 */
export async function hasRowsToErase(
  source: Database,
  target: Database,
  { account, id }: Move,
): Promise<boolean> {
  const [own] = await source.load([
    source
      .select({ id: sql<string>`hex(${agents.id})` })
      .from(agents)
      .where(eq(agents.account, account)),
  ]);
  const ids = JSON.stringify(own.map((agent) => agent.id));
  const ofAccount = and(eq(erasures.kind, 'account'), eq(erasures.subject, idBytes(id)));
  const ofAgents = and(
    eq(erasures.kind, 'agent'),
    sql`hex(${erasures.subject}) in (select value from json_each(${ids}))`,
  );
  const [found] = await target.load([
    target.select({ id: erasures.id }).from(erasures).where(or(ofAccount, ofAgents)).limit(1),
  ]);
  return found.length > 0;
}

/**
 * Reserves a number for the account on the target shard: the number of a row that is inserted and
 * deleted at once. AUTOINCREMENT never gives the number to another row.
 */
export async function reserveNumber(
  source: MoverShard,
  target: Database,
  departure: Move,
  now: number,
): Promise<void> {
  const { account } = departure;
  const [[bounds]] = await source.database.load([
    source.database
      .select({ logPosition: sql<number>`log_position`, openSince: sql<number>`open_since` })
      .from(sql`(${selectBounds(account, now)})`),
  ]);
  if (!bounds) throw new Error('The account has no bounds');
  const { build } = target;
  await target.run([
    build.run(sql`insert into accounts (id, email, plan, is_active, created_at, updated_at)
      values (zeroblob(16), '', 0, 0, 0, 0)`),
    build.run(sql`delete from accounts where id = zeroblob(16)`),
    build.run(sql`insert into moves (
        account, id, direction, shard, log_position, open_since, reserved_at, created_at)
      select seq, ${sql.param(departure.id, moves.id)}, ${into}, ${source.name},
        ${bounds.logPosition}, ${bounds.openSince}, ${now}, ${departure.createdAt}
      from sqlite_sequence where name = 'accounts'`),
  ]);
}

/**
 * Selects `log_position`, the position of the newest entry, and `open_since`, the creation time of
 * the oldest pending request or undelivered event; now if there is none.
 */
function selectBounds(account: number, now: number): SQL {
  const start = raw(account * LOG_SPAN);
  const end = raw((account + 1) * LOG_SPAN);
  const number = raw(account);
  const newestEntry = sql`
    select max(pos) from audit_entries where pos > ${start} and pos < ${end}`;
  const oldestPendingRequest = sql`
    select min(created_at) from permissions indexed by permissions_pending
    where account = ${number} and status = ${pending}`;
  const oldestPendingEvent = sql`
    select min(created_at) from permission_events indexed by permission_events_pending
    where account = ${number} and is_pending`;
  const oldestEntryNotInFeed = sql`
    select created_at from audit_entries
    where pos > (select position from event_feeds where account = ${number}) and pos < ${end}
    order by pos limit 1`;
  return sql`
    select coalesce((${newestEntry}), ${start}) as log_position,
      min(
        ${now},
        coalesce((${oldestPendingRequest}), ${now}),
        coalesce((${oldestPendingEvent}), ${now}),
        coalesce((${oldestEntryNotInFeed}), ${now})
      ) as open_since`;
}
