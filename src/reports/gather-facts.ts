import { sql } from 'drizzle-orm';
import { logStart } from '../audit/entry';
import type { PositionRange } from '../audit/find-file-range';
import type { Reader } from '../db/database';
import { auditEntries, EVENT_TYPES, type MemberRole } from '../db/schema';
import type { FileRow } from '../files/file-records';
import { LOG_SPAN } from '../ledger/append';
import { entryId } from '../ledger/entry-id';
import { deciderKind } from '../lib/decider';
import { DAY } from '../lib/time';
import type { AgentFigures, DeciderFigures, EntryReferences, ReportContent } from './content';
import {
  type CountWithExamples,
  emptyCounts,
  type Figures,
  sumCounts,
  type Topic,
} from './figures';
import { readActs } from './outcomes';
import {
  type AccountConfiguration,
  type CurrentMember,
  readActivity,
  readMembers,
} from './read-account';
import { coverageEnd, reportRequest } from './report';

/** A key that is older counts as stale. */
const KEY_LIFE_DAYS = 90;

/** The facts from which a report's findings, exceptions and tables are written. */
export type PeriodFacts = Awaited<ReturnType<typeof gatherFacts>>;

/**
 * Combines the figures of a report with the configuration and the activity of its account, and
 * looks up the ids of the entries that its statements refer to.
 * @param span the positions that the report covers
 */
export async function gatherFacts(
  reader: Reader,
  file: FileRow,
  span: PositionRange,
  figures: Figures,
  { policies, agents }: AccountConfiguration,
) {
  const { period, from, to } = reportRequest(file);
  const activity = await readActivity(reader, file);
  const members = await readMembers(
    reader,
    file.account,
    Object.keys(figures.deciders).filter((id) => deciderKind(id) === 'member'),
  );
  const start = logStart({ number: file.account });
  // An agent created after the request can have entries if another server's clock was ahead.
  const registered = agents.filter(
    ({ number, createdAt }) => createdAt <= file.createdAt || figures.agents[number],
  );
  const ends = endsOf(figures.reach);
  const ids = await readIds(reader, [
    ...Object.values(figures.topics).flatMap(({ positions }) => positions),
    ...Object.values(figures.deciders).flatMap(({ alone }) => endsOf(alone)),
    ...ends,
  ]);
  const refer = ({ count, positions }: CountWithExamples): EntryReferences => ({
    entries: count,
    entry_ids: positions.flatMap((position) => ids.get(position) ?? []),
  });
  const decisionsOf = (decider: string): CountWithExamples => {
    const { alone = null } = figures.deciders[decider] ?? {};
    return { count: alone?.count ?? 0, positions: endsOf(alone) };
  };
  const { succeeded = 0, failed = 0, unknown = 0, awaited = 0 } = figures.outcomes;
  const until = Math.min(to, file.createdAt);
  const active = registered.filter(
    ({ isActive, createdAt }) => isActive && createdAt < coverageEnd(file),
  );
  const summary = summarize(figures);
  let asOf = `at the end of ${period.end}`;
  if (to > file.createdAt) asOf = `when the report was asked for, on ${period.end}`;
  return {
    /** The start of the period in milliseconds. */
    from,
    /** Words for the time at which the age of keys is judged: `at the end of …`. */
    asOf,
    summary,
    months: listMonths(period, figures),
    agents: listAgents(figures, registered),
    deciders: listDeciders(figures, policies, members),
    outcomes: {
      ...{ succeeded, failed, unknown, awaited },
      unknown_acts: await readActs(reader, figures.unknownOutcomes),
    },
    /**
     * The number of approvals under review policies, by the number of people who approved the
     * request.
     */
    approvalsByPeople: figures.approvalsByPeople,
    /** The entries of one or more topics together. */
    entriesOf: (...topics: Topic[]) =>
      refer(sumCounts(topics.map((topic) => figures.topics[topic]))),
    /** All entries that the report covers; refers to the first and the last. */
    firstAndLast: refer({ count: summary.entries, positions: ends }),
    /**
     * The decisions of some deciders on requests on which nobody else voted: all decisions of
     * policies. Refers to the first and the last of each decider, at most five.
     */
    decisionsBy: (...deciders: string[]) => refer(sumCounts(deciders.map(decisionsOf))),
    configuration: { policies, agents: registered },
    activity,
    /** Active agents whose current key was older than 90 days at the time that `asOf` names. */
    agentsWithStaleKeys: active.filter(
      ({ keyCreatedAt }) => keyCreatedAt !== null && keyCreatedAt < until - KEY_LIFE_DAYS * DAY,
    ),
    /**
     * Active agents that were registered before {@link coverageEnd} and have no entry that the
     * report covers. Empty if the plan no longer kept any entry of the period: then missing entries
     * say nothing about agents.
     */
    quietAgents: file.keptFrom < to ? active.filter(({ number }) => !figures.agents[number]) : [],
    /**
     * The sequences (numbers in the account's log, from 1) of the first and the last entry; null
     * without entries.
     */
    sequences: figures.reach && {
      first: figures.reach.first - start,
      last: figures.reach.last - start,
    },
    /** The first of the sequences that the sample is drawn from, and how many there are. */
    samplePopulation: { first: span.low - start, size: span.high - span.low },
  };
}

/** The first and the last position of a range, once if they are the same. */
function endsOf(range: { first: number; last: number } | null): number[] {
  if (!range) return [];
  return [...new Set([range.first, range.last])];
}

async function readIds(reader: Reader, positions: number[]): Promise<Map<number, string>> {
  const [rows] = await reader.load([
    reader
      .select({
        pos: auditEntries.pos,
        createdAt: auditEntries.createdAt,
        random: auditEntries.random,
      })
      .from(sql`json_each(${JSON.stringify([...new Set(positions)])}) as wanted`)
      .crossJoin(auditEntries)
      .where(sql`${auditEntries.pos} = wanted.value`),
  ]);
  return new Map(rows.map((row) => [row.pos, entryId({ ...row, sequence: row.pos % LOG_SPAN })]));
}

function summarize({ events, topics, months, agents }: Figures): ReportContent['summary'] {
  const total = emptyCounts();
  for (const counts of Object.values(months)) {
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += counts[name];
  }
  const { entries, ...counts } = total;
  return {
    entries,
    by_event_type: Object.fromEntries(EVENT_TYPES.map((type, i) => [type, events[i] ?? 0])),
    agents: Object.keys(agents).length,
    ...counts,
    approved_by_person: topics.personApproval.count,
    approved_by_policy: topics.policyApproval.count,
    approved_by_series: topics.seriesApproval.count,
    denied_by_person: topics.personDenial.count,
    denied_by_policy: topics.policyDenial.count,
  };
}

function listMonths(
  { start, end }: ReportContent['period'],
  { months }: Figures,
): ReportContent['months'] {
  const listed: ReportContent['months'] = [];
  for (const date = new Date(start.slice(0, 7)); ; date.setUTCMonth(date.getUTCMonth() + 1)) {
    const month = date.toISOString().slice(0, 7);
    if (month > end) return listed;
    listed.push({ month, ...(months[month] ?? emptyCounts()) });
  }
}

function listAgents(figures: Figures, agents: AccountConfiguration['agents']): AgentFigures[] {
  return agents
    .flatMap(({ number, id, name }) => {
      const counts = figures.agents[number];
      if (!counts) return [];
      return [{ agent_id: id, name, counts }];
    })
    .sort((a, b) => b.counts.requests - a.counts.requests || (a.agent_id < b.agent_id ? -1 : 1));
}

function listDeciders(
  { deciders }: Figures,
  policies: AccountConfiguration['policies'],
  members: CurrentMember[],
): DeciderFigures[] {
  const named = new Map<string, { name: string | null; role?: MemberRole }>(
    [...policies, ...members].map((one) => [one.id, one]),
  );
  return Object.entries(deciders)
    .map(([decider, { approved, denied, voted, signed, bySeries }]) => ({
      decided_by: decider,
      kind: deciderKind(decider) === 'policy' ? ('policy' as const) : ('person' as const),
      name: named.get(decider)?.name ?? null,
      role: named.get(decider)?.role ?? null,
      approved,
      denied,
      voted,
      signed,
      ...(bySeries > 0 && { by_series: bySeries }),
    }))
    .sort(
      (a, b) =>
        b.approved + b.denied - a.approved - a.denied ||
        b.voted - a.voted ||
        (a.decided_by < b.decided_by ? -1 : 1),
    );
}
