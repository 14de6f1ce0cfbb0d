import type { EntryReferences, Finding } from './content';
import type { PeriodFacts } from './gather-facts';
import { formatCount, formatNumber, isOrAre, wasOrWere } from './wording';

/** Every finding that a report can give as evidence for an audit control. */
export type Findings = ReturnType<typeof writeFindings>;

export type FindingName = keyof Findings;

/**
 * Writes every finding with its figures. Findings about the configuration and the account activity refer to no entries.
 */
export function writeFindings(facts: PeriodFacts) {
  return { ...describeDesign(facts), ...describeOperation(facts), ...describeChanges(facts) };
}

/** The findings about how the service and the account are set up. */
function describeDesign({
  configuration,
  agentsWithStaleKeys: staleKeys,
  summary,
  sequences,
  firstAndLast,
  asOf,
}: PeriodFacts) {
  const { agents, policies } = configuration;
  const active = policies.filter(({ isActive }) => isActive);
  const approving = active.filter(({ effect }) => effect === 'approve');
  const activeAgents = agents.filter(({ isActive }) => isActive).length;
  return {
    agents: withoutEntries(
      `${formatCount(agents.length, 'agent')} ${isOrAre(agents.length)} registered, ${formatNumber(activeAgents)} of them active. Each has a key of its own, of ` +
        'which the service keeps a hash and the first 12 characters, and for 24 hours an encrypted copy where it was issued under ' +
        'an idempotency key; no two agents share one.',
    ),
    gate: withoutEntries(
      'An agent’s key by itself permits no action: for each action on each resource the agent has to ask, and a token is issued ' +
        'only with an approval, by a user token or by a policy, in one transaction with the entry that records it. No agent ' +
        'key can decide a request.',
    ),
    limits: withoutEntries(
      'A token is for one action on one resource, carries the limits that were granted, a number of uses and an expiry of ' +
        'at most 7 days. An approver can narrow what was asked for, and cannot widen it. Use limits and revocations ' +
        'take effect only if the service is asked: a system that checks only the signature and the expiry does not see them.',
    ),
    policies: withoutEntries(
      `${formatCount(active.length, 'policy', 'policies')} ${isOrAre(active.length)} active: ${formatNumber(approving.length)} that can approve, ` +
        `${formatNumber(active.length - approving.length)} that deny. ` +
        `${formatNumber(approving.filter(({ isUnrestricted }) => isUnrestricted).length)} of the former approve everything that none of ` +
        'the latter denies. Any denial that applies wins; a request that no policy decides waits for a decision with a user token.',
    ),
    keys: withoutEntries(
      `${formatCount(staleKeys.length, 'active agent')} had a current key older than 90 days ${asOf}. A key can be ` +
        'replaced with a grace period or at once, and a replaced key ends at its deadline.',
    ),
    log: {
      text: sequences
        ? `Entries are numbered without gaps: those of the period lie between sequence ${formatNumber(sequences.first)} and ${formatNumber(sequences.last)}, of which ` +
          `${formatNumber(summary.entries)} can be read; ${formatNumber(sequences.last - sequences.first + 1 - summary.entries)} were erased with a deleted agent, or will be. ` +
          'This figure excludes entries erased before the first or after the last of them. Each entry has the time, the ' +
          'agent, and the address and the client that caused it, or says that the service itself did.'
        : 'The log holds no entry of the period.',
      ...firstAndLast,
    },
    retention: withoutEntries(
      'Entries are append-only: no call of the service changes one. They are erased with their agent, with the ' +
        'account, or at the end of their retention. This report does not show what the operator of the database could do.',
    ),
  };
}

/** The findings about what agents, people and policies did. */
function describeOperation({ entriesOf, summary, agents }: PeriodFacts) {
  const asking = agents.filter(({ counts }) => counts.requests > 0).length;
  const decided = summary.approved + summary.denied;
  return {
    requests: withEntries(
      entriesOf('request'),
      (n) =>
        `${formatCount(n, 'request')} of ${formatCount(asking, 'agent')} ${wasOrWere(n)} recorded, each with action, resource and limits.`,
    ),
    approvals: withEntries(
      entriesOf('personApproval', 'policyApproval'),
      (n) =>
        `${formatCount(n, 'request')} ${wasOrWere(n)} approved: ${formatNumber(summary.approved_by_person)} by people, ${formatNumber(summary.approved_by_policy)} by policies. ` +
        'Each entry names the account or the policy that decided, and what was granted.',
    ),
    denials: withEntries(
      entriesOf('personDenial', 'policyDenial'),
      (n) =>
        `${formatCount(n, 'request')} ${wasOrWere(n)} denied: ${formatNumber(summary.denied_by_person)} by people, ${formatNumber(summary.denied_by_policy)} by policies.`,
    ),
    human: withEntries(
      entriesOf('personApproval', 'personDenial'),
      (n) =>
        `${formatNumber(n)} of ${formatCount(decided, 'decision')} ${wasOrWere(n)} taken with a user token of the account: by a person, or by a program ` +
        'that holds one. Before an approval there is no token.',
    ),
    automatic: withEntries(
      entriesOf('policyApproval', 'policyDenial'),
      (n) =>
        `Policies took ${formatNumber(n)} of ${formatCount(decided, 'decision')} without a person; each entry names the policy.`,
    ),
    quick: withEntries(
      entriesOf('quickDecision'),
      (n) => `${formatCount(n, 'decision')} of people came within seconds of the request (see exceptions).`,
    ),
    tokens: withEntries(
      entriesOf('personApproval', 'policyApproval'),
      (n) => `${formatCount(n, 'token')} ${wasOrWere(n)} issued, one with each approval.`,
    ),
    uses: withEntries(
      entriesOf('use'),
      (n) =>
        `${formatCount(n, 'use')} of ${formatCount(summary.tokens_used, 'token')} ${wasOrWere(n)} recorded, one entry each.`,
    ),
    unused: withEntries(
      entriesOf('unusedToken'),
      (n) => `${formatCount(n, 'token')} expired without a recorded use: access ended by itself.`,
    ),
    undecided: withEntries(
      entriesOf('undecidedRequest'),
      (n) => `${formatCount(n, 'request')} expired undecided: without a decision there is no access.`,
    ),
    revocations: withEntries(
      entriesOf('revocation'),
      (n) =>
        `${formatCount(n, 'token')} ${wasOrWere(n)} revoked before the expiry; the service refuses a revoked token.`,
    ),
    retries: withEntries(
      entriesOf('retriedDenial'),
      (n) => `${formatCount(n, 'denial')} ${wasOrWere(n)} followed by the same request again (see exceptions).`,
    ),
  };
}

/** The findings about changes of the configuration, from the account activity. */
function describeChanges({ activity }: PeriodFacts) {
  const count = (action: string) => activity.by_action[action] ?? 0;
  const changes = (kind: string) =>
    `${formatNumber(count(`${kind}.created`))} created, ${formatNumber(count(`${kind}.updated`))} changed, ${formatNumber(count(`${kind}.deleted`))} deleted`;
  const rotations = count('agent.key_rotated');
  const orders = count('export.requested') + count('report.requested');
  const downloads = count('export.downloaded') + count('report.downloaded');
  return {
    agentChanges: withoutEntries(
      `Agents in the account activity: ${changes('agent')}. Once an agent is deleted, the service refuses its keys and tokens.`,
    ),
    policyChanges: withoutEntries(
      `Policies in the account activity: ${changes('policy')}; each with the user token that did it.`,
    ),
    tokenChanges: withoutEntries(
      `User tokens in the account activity: ${formatNumber(count('user_token.created'))} created, ${formatNumber(count('user_token.deleted'))} deleted. ` +
        'A token cannot create another with rights that it lacks.',
    ),
    rotations: withoutEntries(`${formatCount(rotations, 'rotation')} of agent keys ${wasOrWere(rotations)} recorded.`),
    disclosures: withoutEntries(
      `${formatCount(orders, 'export or report', 'exports and reports')} of the log ${wasOrWere(orders)} asked for, and ` +
        `${formatCount(downloads, 'download')} recorded. Reads through the API and deliveries by webhooks are not recorded ` +
        'in the account activity.',
    ),
  };
}

/** A finding that refers to no entries. */
function withoutEntries(text: string): Finding {
  return { text, entries: 0, entry_ids: [] };
}

/** A finding whose text says how many entries it refers to. */
function withEntries(references: EntryReferences, write: (entries: number) => string): Finding {
  return { text: write(references.entries), ...references };
}
