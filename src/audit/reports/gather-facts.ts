import { sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { auditEntries, EVENT_TYPES } from '../../db/schema';
import { DAY } from '../../lib/time';
import type { PositionRange } from '../find-file-range';
import type { AgentFigures, DeciderFigures, EntryReferences, ReportContent } from './content';
import { type CountWithExamples, EXAMPLES, emptyCounts, type Figures, isPolicy, type Topic } from './figures';
import type { Configuration, RegisteredAgent } from './read-account';

/** A key counts as stale after this time. */
const KEY_LIFE_DAYS = 90;

/** The facts from which the findings and exceptions of a report are written. */
export interface PeriodFacts {
  /** The first and the last day, and the start of the first day in milliseconds. */
  period: { start: string; end: string; from: number };
  /** The time for which the state of keys is given, as words: `at the end of …`. */
  asOf: string;
  summary: ReportContent['summary'];
  months: ReportContent['months'];
  agents: AgentFigures[];
  deciders: DeciderFigures[];
  /** The entries of one or more topics together. */
  entriesOf: (...topics: Topic[]) => EntryReferences;
  /** The number of entries in the period, and the ids of the first and the last. */
  firstAndLast: EntryReferences;
  /** How many decisions these accounts or policies took; the first and last of each, at most {@link EXAMPLES}. */
  decisionsBy: (...deciders: string[]) => EntryReferences;
  configuration: Configuration;
  activity: ReportContent['activity'];
  /** Active agents whose key was older than {@link KEY_LIFE_DAYS} days at the time that `asOf` names. */
  agentsWithStaleKeys: RegisteredAgent[];
  /**
   * Active agents that were registered before the end of the period and have no entry in it; none if it is not covered.
   */
  quietAgents: RegisteredAgent[];
  /** The sequences of the first and the last entry; null if there is no entry. */
  sequences: { first: number; last: number } | null;
  /** The sequences that the sample is drawn from. */
  samplePopulation: { first: number; size: number };
}

interface FactSources {
  period: PeriodFacts['period'];
  /** The end of the period, or the time of the report's request if that is earlier. */
  until: number;
  asOf: string;
  /** Whether the account's plan still keeps entries of the period. If not, missing entries say nothing about agents. */
  isCovered: boolean;
  figures: Figures;
  configuration: Configuration;
  activity: ReportContent['activity'];
  /** When the report was requested. */
  requestedAt: number;
  /** The position before the first entry of the log. */
  logStart: number;
  span: PositionRange;
}

/**
 * Combines the figures with what was read from the account, and looks up the ids of all entries that are referred to.
 */
export async function gatherFacts(reader: Reader, sources: FactSources): Promise<PeriodFacts> {
  const { period, asOf, figures, activity, until, requestedAt, logStart, span } = sources;
  const { policies, agents } = sources.configuration;
  // An agent created after the request can have entries if another server's clock was ahead.
  const registered = agents.filter(({ number, createdAt }) => createdAt <= requestedAt || figures.agents[number]);
  const configuration = { policies, agents: registered };
  const ends = figures.reach ? [...new Set([figures.reach.first, figures.reach.last])] : [];
  const ids = await readIds(reader, [
    ...Object.values(figures.topics).flatMap(({ positions }) => positions),
    ...Object.values(figures.deciders).flatMap(({ first, last }) => [first, last]),
    ...ends,
  ]);
  const refer = ({ count, positions }: CountWithExamples): EntryReferences => ({
    entries: count,
    entry_ids: positions.flatMap((position) => ids.get(position) ?? []),
  });
  const decisionsOf = (decider: string): CountWithExamples => {
    const { approved, denied, first, last } = figures.deciders[decider] ?? NO_DECISIONS;
    const count = approved + denied;
    return { count, positions: count === 0 ? [] : [...new Set([first, last])] };
  };
  const due = registered.filter(({ isActive, createdAt }) => isActive && createdAt <= until);
  const summary = summarize(figures);
  return {
    period,
    asOf,
    summary,
    months: listMonths(period, figures),
    agents: listAgents(figures, configuration),
    deciders: listDeciders(figures, configuration),
    entriesOf: (...topics) => refer(merge(topics.map((topic) => figures.topics[topic]))),
    firstAndLast: refer({ count: summary.entries, positions: ends }),
    decisionsBy: (...deciders) => refer(merge(deciders.map(decisionsOf))),
    configuration,
    activity,
    agentsWithStaleKeys: due.filter(
      ({ keyCreatedAt }) => keyCreatedAt !== null && keyCreatedAt < until - KEY_LIFE_DAYS * DAY,
    ),
    quietAgents: sources.isCovered ? due.filter(({ number }) => !figures.agents[number]) : [],
    sequences: figures.reach && { first: figures.reach.first - logStart, last: figures.reach.last - logStart },
    samplePopulation: { first: span.low - logStart, size: span.high - span.low },
  };
}

const NO_DECISIONS = { approved: 0, denied: 0, first: 0, last: 0 };

/** Adds counts up and keeps the first {@link EXAMPLES} of all their examples. */
function merge(parts: CountWithExamples[]): CountWithExamples {
  const positions = parts.flatMap((part) => part.positions).sort((a, b) => a - b);
  return { count: parts.reduce((sum, { count }) => sum + count, 0), positions: positions.slice(0, EXAMPLES) };
}

async function readIds(reader: Reader, positions: number[]): Promise<Map<number, string>> {
  const [rows] = await reader.load([
    reader
      .select({ pos: auditEntries.pos, id: auditEntries.id })
      .from(sql`json_each(${JSON.stringify([...new Set(positions)])}) as wanted`)
      .crossJoin(auditEntries)
      .where(sql`${auditEntries.pos} = wanted.value`),
  ]);
  return new Map(rows.map(({ pos, id }) => [pos, id]));
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
    denied_by_person: topics.personDenial.count,
    denied_by_policy: topics.policyDenial.count,
  };
}

/** Lists every calendar month of the period, including months without entries. */
function listMonths({ start, end }: FactSources['period'], { months }: Figures): ReportContent['months'] {
  const listed: ReportContent['months'] = [];
  const date = new Date(`${start.slice(0, 7)}-01T00:00:00Z`);
  for (; date.toISOString().slice(0, 7) <= end.slice(0, 7); date.setUTCMonth(date.getUTCMonth() + 1)) {
    const month = date.toISOString().slice(0, 7);
    listed.push({ month, ...(months[month] ?? emptyCounts()) });
  }
  return listed;
}

function listAgents(figures: Figures, { agents }: Configuration): AgentFigures[] {
  return agents
    .flatMap(({ number, id, name }) => {
      const counts = figures.agents[number];
      return counts ? [{ agent_id: id, name, counts }] : [];
    })
    .sort((a, b) => b.counts.requests - a.counts.requests || (a.agent_id < b.agent_id ? -1 : 1));
}

function listDeciders({ deciders }: Figures, { policies }: Configuration): DeciderFigures[] {
  const names = new Map<string, string>(policies.map(({ id, name }) => [id, name]));
  return Object.entries(deciders)
    .map(([decider, { approved, denied }]) => ({
      decided_by: decider,
      kind: isPolicy(decider) ? ('policy' as const) : ('person' as const),
      name: names.get(decider) ?? null,
      approved,
      denied,
    }))
    .sort((a, b) => b.approved + b.denied - a.approved - a.denied || (a.decided_by < b.decided_by ? -1 : 1));
}
