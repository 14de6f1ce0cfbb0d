import { EVENT_TYPES, type EventType } from '../../db/schema';
import { SECOND } from '../../lib/time';
import type { Counts } from './content';

/** A person's decision counts as quick when it comes within this time of the request, in milliseconds. */
export const QUICK_DECISION = 5 * SECOND;

/**
 * A denial counts as retried when one of the agent's next requests for the action repeats it: of this many requests.
 */
export const RETRY_REQUESTS = 5;

/** How many entries of each topic are kept as examples: the first ones. */
export const EXAMPLES = 5;

/** The bits of an entry's `mark`, which says more than its event type does. Events share bits. */
export const MARKS = {
  /** On a decision: a person took it quickly. */
  quick: 1,
  /** On a denial: the agent asked for the same again. */
  retried: 2,
  /** On a use: it is the token's first in the period. */
  firstUse: 1,
  /** On an expiry: an unused token expired, not an undecided request. */
  unused: 1,
};

/** Which entries belong to a topic. */
export interface TopicRule {
  events: readonly EventType[];
  by?: 'person' | 'policy';
  /** The mark that the entries have, or do not have if `unmarked`. */
  mark?: number;
  unmarked?: true;
}

/** The topics that the report states with example entries. */
const TOPIC_RULES = {
  request: { events: ['request'] },
  personApproval: { events: ['approve'], by: 'person' },
  personDenial: { events: ['deny'], by: 'person' },
  policyApproval: { events: ['approve'], by: 'policy' },
  policyDenial: { events: ['deny'], by: 'policy' },
  use: { events: ['use'] },
  revocation: { events: ['revoke'] },
  unusedToken: { events: ['expire'], mark: MARKS.unused },
  undecidedRequest: { events: ['expire'], mark: MARKS.unused, unmarked: true },
  quickDecision: { events: ['approve', 'deny'], by: 'person', mark: MARKS.quick },
  retriedDenial: { events: ['deny'], mark: MARKS.retried },
} as const satisfies Record<string, TopicRule>;

export type Topic = keyof typeof TOPIC_RULES;

export const TOPICS = Object.entries(TOPIC_RULES) as [Topic, TopicRule][];

/** How many entries there are, and the positions of the first {@link EXAMPLES} of them. */
export interface CountWithExamples {
  count: number;
  positions: number[];
}

/** How many requests one account or policy decided, and the positions of its first and last decision. */
interface DecisionCounts {
  approved: number;
  denied: number;
  first: number;
  last: number;
}

/** All counts of a report, saved between slices. Their size depends on agents, policies and months, not on entries. */
export interface Figures {
  /** By event type, in the order of the stored codes. */
  events: number[];
  topics: Record<Topic, CountWithExamples>;
  /** By the agent's number. */
  agents: Record<string, Counts>;
  /** By `YYYY-MM`. */
  months: Record<string, Counts>;
  /** By the id of the account or the policy. */
  deciders: Record<string, DecisionCounts>;
  /** Positions of the first and the last entry; null if there is no entry. */
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
  const topics = TOPICS.map(([topic]) => [topic, { count: 0, positions: [] }]);
  return {
    events: EVENT_TYPES.map(() => 0),
    topics: Object.fromEntries(topics) as unknown as Record<Topic, CountWithExamples>,
    agents: {},
    months: {},
    deciders: {},
    reach: null,
  };
}

/** Entries that count alike: same agent, month, event, decider and mark. */
export interface EntryGroup {
  agent: number;
  month: string;
  /** The stored code of the event type. */
  event: number;
  /** The id of the account or policy that decided; empty for other events. */
  decider: string;
  mark: number;
  entries: number;
  /** Positions of the group's first and last entry. */
  first: number;
  last: number;
}

/** Adds a group of entries to all figures except the topics' examples. */
export function addGroup(figures: Figures, group: EntryGroup): void {
  const { entries, event, decider, first, last } = group;
  figures.events[event] = (figures.events[event] ?? 0) + entries;
  for (const [topic, rule] of TOPICS) if (belongsTo(rule, group)) figures.topics[topic].count += entries;
  figures.agents[group.agent] ??= emptyCounts();
  figures.months[group.month] ??= emptyCounts();
  for (const counts of [figures.agents[group.agent], figures.months[group.month]]) {
    if (counts) addToCounts(counts, group);
  }
  if (decider !== '') {
    figures.deciders[decider] ??= { approved: 0, denied: 0, first, last };
    const decisions = figures.deciders[decider];
    decisions[EVENT_TYPES[event] === 'approve' ? 'approved' : 'denied'] += entries;
    Object.assign(decisions, extendRange(decisions, group));
  }
  figures.reach = extendRange(figures.reach ?? group, group);
}

function extendRange(range: { first: number; last: number }, { first, last }: EntryGroup) {
  return { first: Math.min(range.first, first), last: Math.max(range.last, last) };
}

function addToCounts(counts: Counts, { event, mark, entries }: EntryGroup): void {
  counts.entries += entries;
  const columns: Record<EventType, (keyof Counts)[]> = {
    request: ['requests'],
    approve: ['approved', 'tokens_issued'],
    deny: ['denied'],
    use: mark & MARKS.firstUse ? ['tokens_used'] : [],
    expire: mark & MARKS.unused ? [] : ['expired'],
    revoke: ['tokens_revoked'],
  };
  for (const column of columns[EVENT_TYPES[event] as EventType]) counts[column] += entries;
}

/** Whether the entries of a group belong to a topic. */
export function belongsTo({ events, by, mark, unmarked }: TopicRule, group: EntryGroup): boolean {
  return (
    events.includes(EVENT_TYPES[group.event] as EventType) &&
    (by === undefined || (by === 'policy') === isPolicy(group.decider)) &&
    (mark === undefined || ((group.mark & mark) === 0) === (unmarked === true))
  );
}

export const POLICY_PREFIX = 'policy_';

/** Whether a policy decided; otherwise a person did, with a user token of the account. */
export function isPolicy(decider: string): boolean {
  return decider.startsWith(POLICY_PREFIX);
}
