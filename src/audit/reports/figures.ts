import { type SQL, sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { EVENT_TYPES, type EventType } from '../../db/schema';
import { SECOND } from '../../lib/time';
import type { PositionRange } from '../find-file-range';
import { selectDetail } from '../select-detail';
import type { Counts } from './report';

/** A decision that a person takes this soon after the request was hardly weighed. */
export const QUICK_DECISION = 5 * SECOND;

/** A denied action counts as tried again when it is among so many of the agent's next requests for that action. */
export const RETRY_REACH = 5;

/** Entries that are kept as examples of each topic: the first ones. */
export const EXAMPLES = 5;

// What an entry has beyond its event, as bits of `mark`.
/** Of a person's decision: it came quickly. */
const QUICK = 1;
/** Of a denial: the same was asked for again. */
const RETRIED = 2;
/** Of a use: the token's first in the period. */
const FIRST_USE = 1;
/** Of an expiry: a token ran out unused, not a request undecided. */
const UNUSED = 1;

interface TopicRule {
  events: readonly EventType[];
  by?: 'person' | 'policy';
  mark?: number;
  /** Whether the mark is to be absent. */
  unmarked?: true;
}

/** What the report has something to say of, with entries to show for it. */
export const TOPICS = {
  request: { events: ['request'] },
  personApproval: { events: ['approve'], by: 'person' },
  personDenial: { events: ['deny'], by: 'person' },
  policyApproval: { events: ['approve'], by: 'policy' },
  policyDenial: { events: ['deny'], by: 'policy' },
  use: { events: ['use'] },
  revocation: { events: ['revoke'] },
  unusedToken: { events: ['expire'], mark: UNUSED },
  undecidedRequest: { events: ['expire'], mark: UNUSED, unmarked: true },
  quickDecision: { events: ['approve', 'deny'], by: 'person', mark: QUICK },
  retriedDenial: { events: ['deny'], mark: RETRIED },
} as const satisfies Record<string, TopicRule>;

export type Topic = keyof typeof TOPICS;

const topics = Object.entries(TOPICS) as [Topic, TopicRule][];

/** How many entries there are of something, and the positions of the first few. */
export interface Evidence {
  count: number;
  positions: number[];
}

/** What one account or policy decided, and the positions of its first and last decision. */
interface Decisions {
  approved: number;
  denied: number;
  first: number;
  last: number;
}

/** Everything that is counted. It grows with agents, policies and months, not with entries. */
export interface Figures {
  /** By event type, in the order of the stored codes. */
  events: number[];
  topics: Record<Topic, Evidence>;
  /** By the agent's number. */
  agents: Record<string, Counts>;
  /** By `YYYY-MM`. */
  months: Record<string, Counts>;
  /** By the identifier of the account or the policy. */
  deciders: Record<string, Decisions>;
  /** Positions of the first and the last entry; null where there is none. */
  reach: { first: number; last: number } | null;
}

export function emptyCounts(): Counts {
  return {
    entries: 0,
    requests: 0,
    approved: 0,
    denied: 0,
    expired: 0,
    tokens_issued: 0,
    tokens_used: 0,
    tokens_revoked: 0,
  };
}

export function emptyFigures(): Figures {
  const none = topics.map(([topic]) => [topic, { count: 0, positions: [] }]);
  return {
    events: EVENT_TYPES.map(() => 0),
    topics: Object.fromEntries(none) as unknown as Record<Topic, Evidence>,
    agents: {},
    months: {},
    deciders: {},
    reach: null,
  };
}

/** Entries of a slice of the log that are alike. */
interface Group {
  agent: number;
  month: string;
  event: number;
  /** Who decided; empty where nobody did. */
  decider: string;
  mark: number;
  entries: number;
  first: number;
  last: number;
}

/** Counts the entries of a span of the log, a slice at a time; what it counts does not depend on how they are cut. */
export class FigureSource {
  /**
   * @param span all of the log that is counted
   * @param isKnown whether an agent, by its number, still exists; entries of the others are left out
   */
  constructor(
    private readonly reader: Reader,
    private readonly span: PositionRange,
    private readonly isKnown: (agent: number) => boolean,
  ) {}

  /**
   * Adds the next entries to the figures.
   * @param limit of entries; those of deleted agents count, and are left out
   * @returns the first position that was not looked at
   */
  async add(figures: Figures, low: number, limit: number): Promise<number> {
    const { high } = this.span;
    const all = await this.readGroups(low, limit);
    const groups = all.filter(({ agent }) => this.isKnown(agent));
    for (const group of groups) count(figures, group);
    const seen = all.reduce((sum, { entries }) => sum + entries, 0);
    const next = seen < limit ? high : all.reduce((last, group) => Math.max(last, group.last), low) + 1;
    await this.addExamples(figures, groups, next);
    return next;
  }

  private async readGroups(low: number, limit: number): Promise<Group[]> {
    const marked = sql`${this.selectMarked(low, this.span.high)} order by pos limit ${limit}`;
    const [rows] = await this.reader.load([
      this.reader
        .select({
          agent: sql<number>`agent`,
          month: sql<string>`month`,
          event: sql<number>`event`,
          decider: sql<string>`decider`,
          mark: sql<number>`mark`,
          entries: sql<number>`count(*) as entries`,
          first: sql<number>`min(pos) as first`,
          last: sql<number>`max(pos) as last`,
        })
        .from(sql`(${marked})`)
        .groupBy(sql`agent, month, event, decider, mark`),
    ]);
    return rows;
  }

  /** Entries with what is counted of them, by position; `entry` is each one. */
  private selectMarked(low: number, high: number): SQL {
    const { span } = this;
    // The first 48 bits of a permission's identifier are the time at which it was asked for (RFC 9562 section 5.7).
    const quick = sql`${selectDetail('policy_id', 'entry')} is null
      and permission >= unhex(printf('%012x', created_at - ${number(QUICK_DECISION)}))`;
    const retried = sql`${selectDetail('resource', 'entry')} in (
      select ${selectDetail('resource', 'later')} from audit_entries as later indexed by audit_by_agent_action
      where later.agent = entry.agent and later.action = entry.action and later.event = ${code('request')}
        and later.pos > entry.pos and later.pos < ${span.high}
      order by later.pos limit ${number(RETRY_REACH)})`;
    const usedBefore = sql`exists (
      select 1 from audit_entries as earlier indexed by audit_by_permission
      where earlier.permission = entry.permission and earlier.event = ${code('use')}
        and earlier.pos >= ${span.low} and earlier.pos < entry.pos)`;
    return sql`
      select pos, agent, event, strftime('%Y-%m', created_at / 1000, 'unixepoch') as month,
        iif(event in (${code('approve')}, ${code('deny')}), ${selectDetail('decided_by', 'entry')}, '') as decider,
        case event
          when ${code('approve')} then iif(${quick}, ${number(QUICK)}, 0)
          when ${code('deny')} then iif(${quick}, ${number(QUICK)}, 0) + iif(${retried}, ${number(RETRIED)}, 0)
          when ${code('use')} then iif(${usedBefore}, 0, ${number(FIRST_USE)})
          when ${code('expire')} then iif(${selectDetail('expired', 'entry')} = 'token', ${number(UNUSED)}, 0)
          else 0
        end as mark
      from audit_entries as entry not indexed where pos >= ${low} and pos < ${high}`;
  }

  /** Keeps the first entries of each topic that has few so far. Slices come in order: earlier ones need no second look. */
  private async addExamples(figures: Figures, groups: Group[], next: number): Promise<void> {
    for (const [topic, rule] of topics) {
      const { positions } = figures.topics[topic];
      const room = EXAMPLES - positions.length;
      const matching = groups.filter((group) => fits(rule, group));
      if (room === 0 || matching.length === 0) continue;
      // Of few entries the groups tell each position.
      const isTold = matching.every(({ entries }) => entries <= 2);
      const found = isTold
        ? matching.flatMap(({ entries, first, last }) => (entries === 1 ? [first] : [first, last]))
        : await this.findExamples(rule, Math.min(...matching.map(({ first }) => first)), next, room);
      positions.push(...found.toSorted((a, b) => a - b).slice(0, room));
    }
  }

  private async findExamples(rule: TopicRule, low: number, high: number, limit: number): Promise<number[]> {
    const isOfKnownAgent = sql`exists (select 1 from agents where agents.number = marked.agent)`;
    const [rows] = await this.reader.load([
      this.reader
        .select({ pos: sql<number>`pos` })
        .from(sql`(${this.selectMarked(low, high)}) as marked`)
        .where(sql`${conditionOf(rule)} and ${isOfKnownAgent}`)
        .orderBy(sql`pos`)
        .limit(limit),
    ]);
    return rows.map(({ pos }) => pos);
  }
}

function count(figures: Figures, group: Group): void {
  const { entries, event, decider, first, last } = group;
  figures.events[event] = (figures.events[event] ?? 0) + entries;
  for (const [topic, rule] of topics) if (fits(rule, group)) figures.topics[topic].count += entries;
  figures.agents[group.agent] ??= emptyCounts();
  figures.months[group.month] ??= emptyCounts();
  for (const counts of [figures.agents[group.agent], figures.months[group.month]]) {
    if (counts) countEntries(counts, group);
  }
  if (decider !== '') {
    figures.deciders[decider] ??= { approved: 0, denied: 0, first, last };
    const decisions = figures.deciders[decider];
    decisions[EVENT_TYPES[event] === 'approve' ? 'approved' : 'denied'] += entries;
    Object.assign(decisions, widen(decisions, group));
  }
  figures.reach = widen(figures.reach ?? group, group);
}

function widen<R extends { first: number; last: number }>(reach: R, { first, last }: Group) {
  return { first: Math.min(reach.first, first), last: Math.max(reach.last, last) };
}

function countEntries(counts: Counts, { event, mark, entries }: Group): void {
  counts.entries += entries;
  const isMarked = (bit: number) => (mark & bit) !== 0;
  const columns: Record<EventType, (keyof Counts)[]> = {
    request: ['requests'],
    approve: ['approved', 'tokens_issued'],
    deny: ['denied'],
    use: isMarked(FIRST_USE) ? ['tokens_used'] : [],
    expire: isMarked(UNUSED) ? [] : ['expired'],
    revoke: ['tokens_revoked'],
  };
  for (const column of columns[EVENT_TYPES[event] as EventType]) counts[column] += entries;
}

/** Whether entries belong to a topic. */
function fits({ events, by, mark, unmarked }: TopicRule, group: Group): boolean {
  return (
    events.includes(EVENT_TYPES[group.event] as EventType) &&
    (by === undefined || (by === 'policy') === isPolicy(group.decider)) &&
    (mark === undefined || ((group.mark & mark) === 0) === (unmarked === true))
  );
}

/** The same for a single entry, as SQL. */
function conditionOf({ events, by, mark, unmarked }: TopicRule): SQL {
  const ofEvents = sql`event in (${sql.join(events.map(code), sql`, `)})`;
  const isMarked = unmarked ? sql`= 0` : sql`<> 0`;
  const byPolicy = sql`(substr(decider, 1, ${number(POLICY.length)}) = ${POLICY})`;
  return sql.join(
    [
      ofEvents,
      ...(by === undefined ? [] : [by === 'policy' ? byPolicy : sql`not ${byPolicy}`]),
      ...(mark === undefined ? [] : [sql`(mark & ${number(mark)}) ${isMarked}`]),
    ],
    sql` and `,
  );
}

const POLICY = 'policy_';

/** Whether it was a policy that decided; else it was a person of the account. */
export function isPolicy(decider: string): boolean {
  return decider.startsWith(POLICY);
}

function code(event: EventType): SQL {
  return number(EVENT_TYPES.indexOf(event));
}

/** A number that stands in the statement itself: bound ones are REAL. */
function number(value: number): SQL {
  return sql.raw(String(value));
}
