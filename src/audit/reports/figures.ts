import { EVENT_TYPES, type EventType } from '../../db/schema';
import { SECOND } from '../../lib/time';
import type { Counts } from './content';

/** A person's decision is quick if it comes at most this long after the request, in milliseconds. */
export const QUICK_DECISION_MS = 5 * SECOND;

/**
 * A denial is retried if one of the agent's next requests for the action, up to this many, is for the same resource.
 */
export const RETRY_WINDOW = 5;

/** How many example entries of a topic the figures keep: the first ones. */
export const MAX_EXAMPLES = 5;

/** Bits of {@link EntryGroup.flags}: what the database finds out about an entry besides its event type. */
export const FLAGS = {
  /** A person took this decision quickly. */
  quick: 1,
  /** The agent repeated the request that this denial is about: see {@link RETRY_WINDOW}. */
  retried: 2,
  /** This use is the first of its token in the period. */
  firstUse: 4,
  /** This expiry is that of an unused token, not of an undecided request. */
  unusedToken: 8,
  /** This expiry is a withdrawal by the agent. */
  withdrawn: 16,
};

/** Entries that count alike: they have the same agent, month, event type, decider and flags. */
export interface EntryGroup {
  /** The agent's number. */
  agent: number;
  /** `YYYY-MM`, in UTC. */
  month: string;
  event: EventType;
  /** The id of the account or policy that approved or denied; empty for other events. */
  decider: string;
  /** A sum of {@link FLAGS}. */
  flags: number;
  /** The number of entries. */
  entries: number;
  /** The positions (`pos` in the database) of the first and the last entry. */
  first: number;
  last: number;
  /** The positions of the first {@link MAX_EXAMPLES} entries, in ascending order. */
  examples: number[];
}

/** Says for each topic whether the entries of a group belong to it. */
const TOPICS = {
  request: ({ event }) => event === 'request',
  personApproval: ({ event, decider }) => event === 'approve' && !isPolicyId(decider),
  personDenial: ({ event, decider }) => event === 'deny' && !isPolicyId(decider),
  policyApproval: ({ event, decider }) => event === 'approve' && isPolicyId(decider),
  policyDenial: ({ event, decider }) => event === 'deny' && isPolicyId(decider),
  use: ({ event }) => event === 'use',
  revocation: ({ event }) => event === 'revoke',
  unusedToken: ({ flags }) => (flags & FLAGS.unusedToken) !== 0,
  undecidedRequest: ({ event, flags }) => event === 'expire' && (flags & (FLAGS.unusedToken | FLAGS.withdrawn)) === 0,
  quickDecision: ({ flags }) => (flags & FLAGS.quick) !== 0,
  retriedDenial: ({ flags }) => (flags & FLAGS.retried) !== 0,
} as const satisfies Record<string, (group: EntryGroup) => boolean>;

/** A kind of entries that reports make statements about. */
export type Topic = keyof typeof TOPICS;

const TOPIC_NAMES = Object.keys(TOPICS) as Topic[];

/** How many entries there are, and the positions of some of them in ascending order. */
export interface CountWithExamples {
  count: number;
  /** At most {@link MAX_EXAMPLES}. */
  positions: number[];
}

/** Adds counts up, and keeps the first {@link MAX_EXAMPLES} of all their examples. */
export function sumCounts(counts: CountWithExamples[]): CountWithExamples {
  const positions = counts.flatMap((one) => one.positions).sort((a, b) => a - b);
  return { count: counts.reduce((sum, { count }) => sum + count, 0), positions: positions.slice(0, MAX_EXAMPLES) };
}

/**
 * What a report counts while it reads the entries, saved with the state of the job that makes it. The size depends on
 * the number of agents, deciders and months, not of entries.
 */
export interface Figures {
  /** The number of entries by event type, in the order of {@link EVENT_TYPES}. */
  events: number[];
  topics: Record<Topic, CountWithExamples>;
  /** By the agent's number. */
  agents: Record<string, Counts>;
  /** By `YYYY-MM`; months without entries are missing. */
  months: Record<string, Counts>;
  /** Approvals, denials, and the positions of the first and the last decision; by the id of the account or policy. */
  deciders: Record<string, { approved: number; denied: number; first: number; last: number }>;
  /** The positions of the first and the last entry; null without entries. */
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
  const topics = TOPIC_NAMES.map((topic) => [topic, { count: 0, positions: [] }]);
  return {
    events: EVENT_TYPES.map(() => 0),
    topics: Object.fromEntries(topics) as Figures['topics'],
    agents: {},
    months: {},
    deciders: {},
    reach: null,
  };
}

/** Adds a group of entries to all figures. Groups can be added in any order. */
export function addGroup(figures: Figures, group: EntryGroup): void {
  const { agent, month, event, decider, entries, first, last, examples } = group;
  const code = EVENT_TYPES.indexOf(event);
  figures.events[code] = (figures.events[code] ?? 0) + entries;
  for (const topic of TOPIC_NAMES.filter((name) => TOPICS[name](group))) {
    figures.topics[topic] = sumCounts([figures.topics[topic], { count: entries, positions: examples }]);
  }
  figures.agents[agent] = addToCounts(figures.agents[agent] ?? emptyCounts(), group);
  figures.months[month] = addToCounts(figures.months[month] ?? emptyCounts(), group);
  if (decider !== '') {
    const decisions = figures.deciders[decider] ?? { approved: 0, denied: 0, first, last };
    decisions[event === 'approve' ? 'approved' : 'denied'] += entries;
    figures.deciders[decider] = { ...decisions, ...extendRange(decisions, group) };
  }
  figures.reach = extendRange(figures.reach ?? group, group);
}

function extendRange(range: { first: number; last: number }, { first, last }: EntryGroup) {
  return { first: Math.min(range.first, first), last: Math.max(range.last, last) };
}

function addToCounts(counts: Counts, { event, flags, entries }: EntryGroup): Counts {
  const columns: Record<EventType, (keyof Counts)[]> = {
    request: ['requests'],
    approve: ['approved', 'tokens_issued'],
    deny: ['denied'],
    use: flags & FLAGS.firstUse ? ['tokens_used'] : [],
    expire: flags & FLAGS.unusedToken ? [] : ['expired'],
    revoke: ['tokens_revoked'],
  };
  for (const column of ['entries', ...columns[event]] as const) counts[column] += entries;
  return counts;
}

/** Whether a decider is a policy. Otherwise it is the account, for which people decide with user tokens. */
export function isPolicyId(decider: string): boolean {
  return decider.startsWith('policy_');
}
