import type { EntryReferences, Finding } from './content';
import type { PeriodFacts } from './gather-facts';
import { formatCount, formatNumber, isOrAre, wasOrWere } from './wording';

/** Every finding that a report can give as evidence for a control, by name. */
export type Findings = ReturnType<typeof writeFindings>;

export type FindingName = keyof Findings;

/** Writes every finding. Those about the configuration and the account activity refer to no entries. */
export function writeFindings(facts: PeriodFacts) {
  return { ...describeDesign(facts), ...describeOperation(facts), ...describeChanges(facts) };
}

/** The findings about how the service, the account and its log are set up. Only `log` refers to entries. */
function describeDesign({ configuration, agentsWithStaleKeys, summary, sequences, firstAndLast, asOf }: PeriodFacts) {
  const { agents, policies } = configuration;
  const activeAgents = agents.filter(({ isActive }) => isActive).length;
  const active = policies.filter(({ isActive }) => isActive);
  const approving = active.filter(({ effect }) => effect === 'approve');
  const unrestricted = approving.filter(({ isUnrestricted }) => isUnrestricted).length;
  const span = sequences ? sequences.last - sequences.first + 1 : 0;
  return {
    agents: finding(
      `${formatCount(agents.length, 'agent')} ${isOrAre(agents.length)} registered, ${formatNumber(activeAgents)} of them active. Each has a key of its own, of ` +
        'which the service keeps a hash and the first 12 characters, and for 24 hours an encrypted copy where it was issued under ' +
        'an idempotency key; no two agents share one.',
    ),
    gate: finding(
      'An agent’s key by itself permits no action: for each action on each resource the agent has to ask, and a token is issued ' +
        'only with an approval, by a user token or by a policy, in one transaction with the entry that records it. No agent ' +
        'key can decide a request.',
    ),
    limits: finding(
      'A token is for one action on one resource, carries the limits that were granted, a number of uses and an expiry of ' +
        'at most 7 days. An approver can narrow what was asked for, and cannot widen it. Use limits and revocations ' +
        'take effect only if the service is asked: a system that checks only the signature and the expiry does not see them.',
    ),
    policies: finding(
      `${formatCount(active.length, 'policy', 'policies')} ${isOrAre(active.length)} active: ${formatNumber(approving.length)} that can approve, ` +
        `${formatNumber(active.length - approving.length)} that deny. ${formatNumber(unrestricted)} of the former approve everything that none of ` +
        'the latter denies. Any denial that applies wins; a request that no policy decides waits for a decision with a user token.',
    ),
    keys: finding(
      `${formatCount(agentsWithStaleKeys.length, 'active agent')} had a current key older than 90 days ${asOf}. A key can be ` +
        'replaced with a grace period or at once, and a replaced key ends at its deadline.',
    ),
    log: finding(
      sequences
        ? `Entries are numbered without gaps: those of the period lie between sequence ${formatNumber(sequences.first)} and ${formatNumber(sequences.last)}, of which ` +
            `${formatNumber(summary.entries)} can be read; ${formatNumber(span - summary.entries)} were erased with a deleted agent, or will be. ` +
            'This figure excludes entries erased before the first or after the last of them. Each entry has the time, the ' +
            'agent, and the address and the client that caused it, or says that the service itself did.'
        : 'The log holds no entry of the period.',
      firstAndLast,
    ),
    retention: finding(
      'Entries are append-only: no call of the service changes one. They are erased with their agent, with the ' +
        'account, or at the end of their retention. This report does not show what the operator of the database could do.',
    ),
  };
}

/** The findings about what agents, people and policies did. */
function describeOperation({ entriesOf, summary, agents }: PeriodFacts) {
  const asking = agents.filter(({ counts }) => counts.requests > 0).length;
  const decisions = formatCount(summary.approved + summary.denied, 'decision');
  const byPeople = summary.approved_by_person + summary.denied_by_person;
  const byPolicies = summary.approved_by_policy + summary.denied_by_policy;
  const approvals = entriesOf('personApproval', 'policyApproval');
  const uses = entriesOf('use');
  const unused = entriesOf('unusedToken');
  const quick = entriesOf('quickDecision');
  const retried = entriesOf('retriedDenial');
  const were = (count: number, noun: string) => `${formatCount(count, noun)} ${wasOrWere(count)}`;
  return {
    requests: finding(
      `${formatCount(summary.requests, 'request')} of ${formatCount(asking, 'agent')} ${wasOrWere(summary.requests)} recorded, each with action, resource and limits.`,
      entriesOf('request'),
    ),
    approvals: finding(
      `${were(summary.approved, 'request')} approved: ${formatNumber(summary.approved_by_person)} by people, ${formatNumber(summary.approved_by_policy)} by policies. ` +
        'Each entry names the account or the policy that decided, and what was granted.',
      approvals,
    ),
    denials: finding(
      `${were(summary.denied, 'request')} denied: ${formatNumber(summary.denied_by_person)} by people, ${formatNumber(summary.denied_by_policy)} by policies.`,
      entriesOf('personDenial', 'policyDenial'),
    ),
    human: finding(
      `${formatNumber(byPeople)} of ${decisions} ${wasOrWere(byPeople)} taken with a user token of the account: by a person, or by a program ` +
        'that holds one. Before an approval there is no token.',
      entriesOf('personApproval', 'personDenial'),
    ),
    automatic: finding(
      `Policies took ${formatNumber(byPolicies)} of ${decisions} without a person; each entry names the policy.`,
      entriesOf('policyApproval', 'policyDenial'),
    ),
    quick: finding(
      `${formatCount(quick.entries, 'decision')} of people came within seconds of the request (see exceptions).`,
      quick,
    ),
    tokens: finding(`${were(summary.tokens_issued, 'token')} issued, one with each approval.`, approvals),
    uses: finding(
      `${formatCount(uses.entries, 'use')} of ${formatCount(summary.tokens_used, 'token')} ${wasOrWere(uses.entries)} recorded, one entry each.`,
      uses,
    ),
    unused: finding(
      `${formatCount(unused.entries, 'token')} expired without a recorded use: access ended by itself.`,
      unused,
    ),
    undecided: finding(
      `${formatCount(summary.expired, 'request')} expired undecided: without a decision there is no access.`,
      entriesOf('undecidedRequest'),
    ),
    revocations: finding(
      `${were(summary.tokens_revoked, 'token')} revoked before the expiry; the service refuses a revoked token.`,
      entriesOf('revocation'),
    ),
    retries: finding(
      `${were(retried.entries, 'denial')} followed by the same request again (see exceptions).`,
      retried,
    ),
  };
}

/** The findings about changes of the configuration, from the account activity. */
function describeChanges({ activity }: PeriodFacts) {
  const count = (...actions: string[]) => actions.reduce((sum, action) => sum + (activity.by_action[action] ?? 0), 0);
  const changes = (kind: string) =>
    `${formatNumber(count(`${kind}.created`))} created, ${formatNumber(count(`${kind}.updated`))} changed, ${formatNumber(count(`${kind}.deleted`))} deleted`;
  const rotations = count('agent.key_rotated');
  const requested = count('export.requested', 'report.requested');
  const downloads = count('export.downloaded', 'report.downloaded');
  return {
    agentChanges: finding(
      `Agents in the account activity: ${changes('agent')}. Once an agent is deleted, the service refuses its keys and tokens.`,
    ),
    policyChanges: finding(
      `Policies in the account activity: ${changes('policy')}; each with the user token that did it.`,
    ),
    tokenChanges: finding(
      `User tokens in the account activity: ${formatNumber(count('user_token.created'))} created, ${formatNumber(count('user_token.deleted'))} deleted. ` +
        'A token cannot create another with rights that it lacks.',
    ),
    rotations: finding(`${formatCount(rotations, 'rotation')} of agent keys ${wasOrWere(rotations)} recorded.`),
    disclosures: finding(
      `${formatCount(requested, 'export or report', 'exports and reports')} of the log ${wasOrWere(requested)} requested, and ` +
        `${formatCount(downloads, 'download')} recorded. Reads through the API and deliveries by webhooks are not recorded ` +
        'in the account activity.',
    ),
  };
}

function finding(text: string, references: EntryReferences = { entries: 0, entry_ids: [] }): Finding {
  return { text, ...references };
}
