import { EVENT_TYPES } from '../db/schema';
import { deciderKind } from '../lib/decider';
import type { Counts } from './content';
import { BY_SERIES, type EntryGroup, FLAGS, isApprovedBy, isReviewed } from './entry-group';
import { type CountedOutcome, MAX_LISTED_OUTCOMES } from './outcomes';

/** How many example entries of a topic the figures keep: the first ones. */
export const MAX_EXAMPLES = 5;

/**
 * Says for each topic whether the entries of a group belong to it.
 * @param owner the id of the member who owns the agent of the group now; null if nobody does
 */
const TOPICS = {
  request: ({ event }) => event === 'request',
  personApproval: ({ event, decider }) =>
    event === 'approve' && deciderKind(decider) !== 'policy' && decider !== BY_SERIES,
  personDenial: ({ event, decider }) => event === 'deny' && deciderKind(decider) !== 'policy',
  policyApproval: ({ event, decider }) => event === 'approve' && deciderKind(decider) === 'policy',
  seriesApproval: ({ decider }) => decider === BY_SERIES,
  policyDenial: ({ event, decider }) => event === 'deny' && deciderKind(decider) === 'policy',
  accountDecision: ({ decider }) => deciderKind(decider) === 'account',
  reviewedApproval: (group) => group.event === 'approve' && isReviewed(group),
  reviewedDenial: (group) => group.event === 'deny' && isReviewed(group),
  unreviewedDecision: (group) =>
    (deciderKind(group.decider) === 'member' || deciderKind(group.decider) === 'account') &&
    !isReviewed(group),
  signedVote: ({ votes }) => votes.some(({ signed }) => signed),
  reviewedOwnerApproval: (group, owner) => isApprovedBy(group, owner) && isReviewed(group),
  unreviewedOwnerApproval: (group, owner) => isApprovedBy(group, owner) && !isReviewed(group),
  use: ({ event }) => event === 'use',
  unknownOutcome: ({ outcome }) => outcome === 'unknown',
  revocation: ({ event }) => event === 'revoke',
  unusedToken: ({ flags }) => (flags & FLAGS.unusedToken) !== 0,
  undecidedRequest: ({ event, flags }) =>
    event === 'expire' && (flags & (FLAGS.unusedToken | FLAGS.withdrawn)) === 0,
  quickDecision: ({ flags }) => (flags & FLAGS.quick) !== 0,
  retriedDenial: ({ flags }) => (flags & FLAGS.retried) !== 0,
} as const satisfies Record<string, (group: EntryGroup, owner: string | null) => boolean>;

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
  return {
    count: counts.reduce((sum, { count }) => sum + count, 0),
    positions: positions.slice(0, MAX_EXAMPLES),
  };
}

/** How many requests a decider decided, and how many more it voted on. */
export interface DeciderTally {
  approved: number;
  denied: number;
  /** Votes of a member that did not settle the request. */
  voted: number;
  /** The decisions and votes that the member signed with a passkey. */
  signed: number;
  /** Approvals by series that the member gave. */
  bySeries: number;
  /**
   * The decisions on requests on which nobody else voted, with the positions of the first and the
   * last; or null.
   */
  alone: { count: number; first: number; last: number } | null;
}

/**
 * The counts of a report while it reads the entries, saved with the state of the job that makes it.
 * The size depends on the number of agents, deciders and months, not of entries.
 */
export interface Figures {
  /** The number of entries by event type, in the order of {@link EVENT_TYPES}. */
  events: number[];
  topics: Record<Topic, CountWithExamples>;
  /** By the agent's number. */
  agents: Record<string, Counts>;
  /** By `YYYY-MM`; months without entries are missing. */
  months: Record<string, Counts>;
  /** By the id of the member, account or policy. */
  deciders: Record<string, DeciderTally>;
  /**
   * The number of approvals under review policies, by the number of people who approved the
   * request.
   */
  approvalsByPeople: Record<string, number>;
  /** The number of uses by their outcome, and the positions of the first unknown ones. */
  outcomes: Partial<Record<CountedOutcome, number>>;
  unknownOutcomes: number[];
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
    approvalsByPeople: {},
    outcomes: {},
    unknownOutcomes: [],
    reach: null,
  };
}

/**
 * Adds a group of entries to all figures. Groups can be added in any order.
 * @param owner the id of the member who owns the agent of the group now; null if nobody does
 */
export function addGroup(figures: Figures, group: EntryGroup, owner: string | null): void {
  const { agent, month, event, entries, examples } = group;
  const code = EVENT_TYPES.indexOf(event);
  figures.events[code] = (figures.events[code] ?? 0) + entries;
  for (const topic of TOPIC_NAMES.filter((name) => TOPICS[name](group, owner))) {
    const added = { count: entries, positions: examples };
    figures.topics[topic] = sumCounts([figures.topics[topic], added]);
  }
  figures.agents[agent] = addToCounts(figures.agents[agent] ?? emptyCounts(), group);
  figures.months[month] = addToCounts(figures.months[month] ?? emptyCounts(), group);
  addToDeciders(figures.deciders, group);
  if (TOPICS.reviewedApproval(group)) {
    const people = group.votes.length;
    figures.approvalsByPeople[people] = (figures.approvalsByPeople[people] ?? 0) + entries;
  }
  addToOutcomes(figures, group);
  figures.reach = extendRange(figures.reach ?? group, group);
}

function addToOutcomes(figures: Figures, { outcome, entries, unknown }: EntryGroup): void {
  if (outcome === '') return;
  figures.outcomes[outcome] = (figures.outcomes[outcome] ?? 0) + entries;
  figures.unknownOutcomes = [...figures.unknownOutcomes, ...unknown]
    .sort((a, b) => a - b)
    .slice(0, MAX_LISTED_OUTCOMES);
}

function addToDeciders(deciders: Figures['deciders'], group: EntryGroup): void {
  const { event, decider, votes, entries } = group;
  const tallyOf = (id: string): DeciderTally => {
    deciders[id] ??= { approved: 0, denied: 0, voted: 0, signed: 0, bySeries: 0, alone: null };
    return deciders[id];
  };
  if (decider === BY_SERIES) {
    for (const { by } of votes) tallyOf(by).bySeries += entries;
    return;
  }
  const isDecision = decider !== '';
  if (isDecision) {
    const tally = tallyOf(decider);
    if (event === 'approve') tally.approved += entries;
    else tally.denied += entries;
    if (votes.every(({ by }) => by === decider)) {
      tally.alone = {
        count: (tally.alone?.count ?? 0) + entries,
        ...extendRange(tally.alone ?? group, group),
      };
    }
  }
  // The last vote of a decision is counted as the decision.
  const others = isDecision ? votes.slice(0, -1) : votes;
  for (const { by } of others) tallyOf(by).voted += entries;
  for (const { by } of votes.filter(({ signed }) => signed)) tallyOf(by).signed += entries;
}

function extendRange(range: { first: number; last: number }, { first, last }: EntryGroup) {
  return { first: Math.min(range.first, first), last: Math.max(range.last, last) };
}

function addToCounts(counts: Counts, { event, flags, entries }: EntryGroup): Counts {
  counts.entries += entries;
  if (event === 'request') counts.requests += entries;
  if (event === 'approve') {
    counts.approved += entries;
    counts.tokens_issued += entries;
  }
  if (event === 'deny') counts.denied += entries;
  if (event === 'use' && flags & FLAGS.firstUse) counts.tokens_used += entries;
  if (event === 'expire' && !(flags & FLAGS.unusedToken)) counts.expired += entries;
  if (event === 'revoke') counts.tokens_revoked += entries;
  return counts;
}
