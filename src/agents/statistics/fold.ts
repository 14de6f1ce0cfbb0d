import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import type { Database } from '../../db/database';
import { MOVED_NUMBERS, STATISTICS_UNITS } from '../../db/schema';
import { DAY } from '../../lib/time';
import { addToCounters, counterColumns, counterSums } from './counters';

/** For how many days statistics are kept by the hour, today included. */
const DAYS_IN_HOURS = 31;
/** Maximum hours that one slice folds. */
const SLICE = 500;

const day = codeOf(STATISTICS_UNITS, 'day');
const hour = codeOf(STATISTICS_UNITS, 'hour');

/**
 * Folds hours of statistics that are more than 31 days old into their days, a slice at a time. The
 * longest period in hours, 30 days and the current hour, reads none of them.
 *
 * Folds each hour exactly once, also if two calls run at the same time or one crashes: one
 * transaction adds the hours to their days and deletes them. Nothing of an hour that old changes
 * any more, unless it is counted late: then it is folded later. Skips agents whose account moves to
 * or from another shard.
 * @param limit how many hours one slice folds
 * @returns whether there may be more to fold
 */
export async function foldHours(database: Database, now: number, limit = SLICE): Promise<boolean> {
  const { build } = database;
  const end = (Math.floor(now / DAY) - DAYS_IN_HOURS + 1) * 24;
  const areChosen = sql`(agent, unit, bucket) in (
    select agent, unit, bucket from agent_statistics indexed by agent_statistics_by_age
    where unit = ${hour} and bucket < ${end} and agent not in (${MOVING_AGENTS})
    order by bucket, agent limit ${sql.raw(String(limit))}
  )`;
  const [, { meta }] = await database.run([
    build.run(addToDays(areChosen)),
    build.run(sql`delete from agent_statistics where ${areChosen}`),
  ]);
  return meta.changes === limit;
}

function addToDays(areChosen: SQL): SQL {
  return sql`
    insert into agent_statistics (agent, unit, bucket, ${counterColumns})
    select agent, ${day}, bucket / 24, ${counterSums} from agent_statistics
    where ${areChosen} group by agent, bucket / 24
    ${addToCounters}`;
}

/** The numbers of agents whose account leaves the shard or arrives there. */
const MOVING_AGENTS = sql`
  select number from agents where account in (select account from moves)
  union all
  select becomes from move_numbers where kind = ${codeOf(MOVED_NUMBERS, 'agent')}`;
