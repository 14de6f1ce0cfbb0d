import { sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { auditEntries, EVENT_TYPES } from '../../db/schema';
import { DAY } from '../../lib/time';
import type { PositionRange } from '../find-file-range';
import type { Configuration, RegisteredAgent } from './configuration';
import { type Evidence, EXAMPLES, emptyCounts, type Figures, isPolicy, type Topic } from './figures';
import type { AgentFigures, ComplianceReport, DeciderFigures, Finding } from './report';

/** A key is to be replaced within this time. */
const KEY_LIFE_DAYS = 90;

/** Entries that show something: how many, and the first few. */
export type Proof = Omit<Finding, 'text'>;

/** What the log and the account hold on a period: what a report says is made of it. */
export interface Facts {
  /** Days, and when the first of them began. */
  period: { start: string; end: string; from: number };
  /** What the configuration is of: `at the end of …`, or when the report was asked for before that. */
  asOf: string;
  summary: ComplianceReport['summary'];
  months: ComplianceReport['months'];
  agents: AgentFigures[];
  deciders: DeciderFigures[];
  /** The entries of some topics together. */
  proofOf: (...topics: Topic[]) => Proof;
  /** The first and the last entry of all. */
  firstAndLast: Proof;
  /** What accounts or policies decided: the first and the last decision of each. */
  decisionsOf: (...deciders: string[]) => Proof;
  configuration: Configuration;
  activity: ComplianceReport['activity'];
  /** Active agents whose key was older than {@link KEY_LIFE_DAYS} days at the end of the period. */
  staleKeys: RegisteredAgent[];
  /** Active agents that were registered by the end of the period, and have no entry in it. */
  quietAgents: RegisteredAgent[];
  /** Sequences of the first and the last entry; null where there is none. */
  reach: { first: number; last: number } | null;
  /** The sequences that a sample is drawn from: the first of them, and how many there are. */
  drawnFrom: { first: number; size: number };
}

interface Source {
  period: Facts['period'];
  /** The end of the period, or when the report was asked for, whichever came first. */
  until: number;
  asOf: string;
  /** Whether the plan keeps anything of the period: of what it does not, nothing follows. */
  isCovered: boolean;
  figures: Figures;
  configuration: Configuration;
  activity: ComplianceReport['activity'];
  /** When the report was asked for. */
  asked: number;
  /** The position before the first entry of the log. */
  logStart: number;
  span: PositionRange;
}

/** Puts together what was counted and read; asks for the identifiers of the entries that it names. */
export async function gatherFacts(reader: Reader, source: Source): Promise<Facts> {
  const { figures, until, asked, logStart, span } = source;
  const { policies, agents } = source.configuration;
  // Those that came later and yet have entries were made by a clock that is ahead.
  const registered = agents.filter(({ number, createdAt }) => createdAt <= asked || figures.agents[number]);
  const configuration = { policies, agents: registered };
  const deciders = Object.entries(figures.deciders);
  const edges = figures.reach ? [...new Set([figures.reach.first, figures.reach.last])] : [];
  const ids = await readIds(reader, [
    ...Object.values(figures.topics).flatMap(({ positions }) => positions),
    ...deciders.flatMap(([, { first, last }]) => [first, last]),
    ...edges,
  ]);
  const prove = ({ count, positions }: Evidence): Proof => ({
    entries: count,
    entry_ids: positions.flatMap((position) => ids.get(position) ?? []),
  });
  const due = registered.filter(({ isActive, createdAt }) => isActive && createdAt <= until);
  const summary = summarize(figures);
  return {
    period: source.period,
    asOf: source.asOf,
    summary,
    months: listMonths(source.period, figures),
    agents: listAgents(figures, configuration),
    deciders: listDeciders(figures, configuration),
    proofOf: (...topics) => prove(merge(topics.map((topic) => figures.topics[topic]))),
    firstAndLast: prove({ count: summary.entries, positions: edges }),
    decisionsOf: (...names) =>
      prove(
        merge(
          names.flatMap((name) => {
            const decisions = figures.deciders[name];
            if (!decisions) return [];
            const { approved, denied, first, last } = decisions;
            return { count: approved + denied, positions: [...new Set([first, last])] };
          }),
        ),
      ),
    configuration,
    activity: source.activity,
    staleKeys: due.filter(({ keyCreatedAt }) => keyCreatedAt !== null && keyCreatedAt < until - KEY_LIFE_DAYS * DAY),
    quietAgents: source.isCovered ? due.filter(({ number }) => !figures.agents[number]) : [],
    reach: figures.reach && { first: figures.reach.first - logStart, last: figures.reach.last - logStart },
    drawnFrom: { first: span.low - logStart, size: span.high - span.low },
  };
}

/** What some topics have together. Each has as many examples as there are, or as are kept. */
function merge(parts: Evidence[]): Evidence {
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

function summarize({ events, topics, months, agents }: Figures): ComplianceReport['summary'] {
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

/** Every calendar month of the period. */
function listMonths({ start, end }: Source['period'], { months }: Figures): ComplianceReport['months'] {
  const listed: ComplianceReport['months'] = [];
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
