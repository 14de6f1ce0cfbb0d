import { and, asc, eq, sql } from 'drizzle-orm';
import { isAtHome } from '../../db/at-home';
import type { Reader } from '../../db/database';
import { agents, series, seriesChecks } from '../../db/schema';
import type { Runtime } from '../../env';
import { makeActivityRecord } from '../../http/activity';
import { SERVICE_ORIGIN } from '../../ledger/entry';
import type { Ledger, RecordWriter } from '../../ledger/ledger';
import { isSeries, type SeriesRow } from './series';
import { earlyEndOfSeries } from './usage';

/** Maximum number of series whose ends one transaction records. */
const SLICE = 10;

/** Another run, or a person, ended one of the series meanwhile. */
class EndedMeanwhile extends Error {}

/**
 * Records the ends of series whose agent got another owner, or whose giver left or got another
 * role: one activity record each, `series.ended`. It looks only at the accounts that `checkSeries`
 * marks. Such a series approves nothing from the change itself on, recorded or not.
 * @returns whether there may be more
 */
export async function recordEndedSeries(context: {
  reader: Reader;
  ledger: Ledger;
  runtime: Runtime;
}): Promise<boolean> {
  const { reader, ledger, runtime } = context;
  const [[check]] = await reader.load([
    reader.select().from(seriesChecks).where(isAtHome).orderBy(asc(seriesChecks.account)).limit(1),
  ]);
  if (!check) return false;
  const { account, since, changes } = check;
  const now = runtime.now();
  const [ended] = await reader.load([selectEnded(reader, check, now)]);
  await recordEnds(context, ended);
  if (ended.length < SLICE) {
    await ledger.write({
      changes: (write) => [
        write
          .delete(seriesChecks)
          .where(
            and(
              eq(seriesChecks.account, account),
              eq(seriesChecks.since, since),
              eq(seriesChecks.changes, changes),
            ),
          ),
      ],
    });
  }
  return true;
}

/**
 * Selects series that have ended, before they expired, without a record of it: the first ones of an
 * account.
 */
function selectEnded(
  reader: Reader,
  { account, since }: typeof seriesChecks.$inferSelect,
  now: number,
) {
  return (
    reader
      .select({
        account: series.account,
        agent: series.agent,
        liveUntil: series.liveUntil,
        permission: series.permission,
        endedAt: earlyEndOfSeries(now).as('end'),
      })
      .from(agents)
      // A cross join keeps this order: SQLite reads only what was live in the series of each agent.
      .crossJoin(series)
      .where(sql`
      agents.account = ${account} and series.account = ${account} and series.agent = agents.number
      and series.live_until > ${since} and ${earlyEndOfSeries(now)} < series.live_until`)
      .limit(SLICE)
  );
}

type EndedSeries = Pick<SeriesRow, 'account' | 'agent' | 'liveUntil' | 'permission' | 'endedAt'>;

async function recordEnds(
  { ledger, runtime }: { ledger: Ledger; runtime: Runtime },
  ended: readonly EndedSeries[],
): Promise<void> {
  const [next, ...others] = ended;
  if (!next) return;
  const record = ({ account, permission: target }: EndedSeries) =>
    makeActivityRecord(
      { runtime, origin: SERVICE_ORIGIN },
      { account, actor: null, action: 'series.ended', target, changes: [] },
    );
  const update = (write: RecordWriter, row: EndedSeries) =>
    write.update(series).set({ liveUntil: 0, endedAt: row.endedAt }).where(isSeries(row));
  const guards = ended.map((row) => ({
    name: 'series_is_unrecorded',
    holds: sql`exists (select 1 from ${series} where ${isSeries(row)})`,
    otherwise: () => new EndedMeanwhile(),
  }));
  try {
    await ledger.change({
      record: record(next),
      furtherRecords: others.map(record),
      guards,
      changes: (write) => [update(write, next), ...others.map((row) => update(write, row))],
      answer: null,
    });
  } catch (error) {
    if (!(error instanceof EndedMeanwhile)) throw error;
  }
}
