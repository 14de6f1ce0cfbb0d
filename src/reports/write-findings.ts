import type { POLICY_EFFECTS } from '../db/schema';
import { deciderKind } from '../lib/decider';
import type { EntryReferences, Finding } from './content';
import type { PeriodFacts } from './gather-facts';
import { countIs, countWas, formatCount, isOrAre, prose, wasOrWere } from './wording';

type PolicyEffect = (typeof POLICY_EFFECTS)[number];

/** Every finding that a report can give as evidence for a control, by name. */
export type Findings = ReturnType<typeof writeFindings>;

export type FindingName = keyof Findings;

/**
 * Writes every finding. Those about the configuration and the account activity refer to no entries.
 */
export function writeFindings(facts: PeriodFacts) {
  return {
    ...describeDesign(facts),
    ...describeOperation(facts),
    ...describeDuties(facts),
    ...describeChanges(facts),
  };
}

/**
 * The findings about how the service, the account and its log are set up. Only `log` refers to
 * entries.
 */
function describeDesign(facts: PeriodFacts) {
  const { agentsWithStaleKeys, asOf } = facts;
  const { agents, policies } = facts.configuration;
  const activeAgents = agents.filter(({ isActive }) => isActive).length;
  const active = policies.filter(({ isActive }) => isActive);
  const withEffect = (effect: PolicyEffect) => active.filter((policy) => policy.effect === effect);
  const approving = withEffect('approve');
  const rules = withEffect('review').flatMap(({ review }) => review ?? []);
  const owned = agents.filter(({ owner }) => owner !== null).length;
  const unrestricted = approving.filter(({ isUnrestricted }) => isUnrestricted).length;
  const limited = approving.filter(({ budget }) => budget !== null).length;
  const denying = withEffect('deny').length;
  const bySeveral = rules.filter(({ approvals }) => approvals > 1).length;
  const withPasskeys = rules.filter(({ passkey }) => passkey).length;
  const allowingOwners = rules.filter(({ allow_self }) => allow_self).length;
  return {
    agents: finding(
      prose`${countIs(agents.length, 'agent')} registered, ${activeAgents} of them active. Each has a key of its own, of ` +
        'which the service keeps a hash and the first 12 characters, and for 24 hours an encrypted copy where it was issued under ' +
        prose`an idempotency key; no two agents share one. A member is named as responsible for ${owned} of them.`,
    ),
    gate: finding(
      'An agent’s key by itself permits no action: for each action on each resource the agent has to ask, and a token is issued ' +
        'only with an approval by a member, by a user token of the account or by a policy, in one transaction with the entry that ' +
        'records it. No agent key can decide a request.',
    ),
    limits: finding(
      'A token is for one action on one resource, carries the limits that were granted, a number of uses and an expiry of ' +
        'at most 7 days. An approver can narrow what was asked for, and cannot widen it. Use limits and revocations ' +
        'take effect only if the service is asked: a system that checks only the signature and the expiry does not see them.',
    ),
    policies: finding(
      prose`${countIs(active.length, 'policy', 'policies')} active: ${approving.length} that can approve, ` +
        prose`${denying} that deny, ${rules.length} that send requests to reviewers. ${unrestricted} of the first are ` +
        prose`for every request, ${limited} approve within a budget only. ` +
        'Any denial that applies wins; else the policy with the highest priority, and at the same priority a review ' +
        'before an approval. A request to which no policy applies waits for one decision by anybody who may decide.',
    ),
    reviewPolicies: finding(
      prose`${formatCount(rules.length, 'review policy is', 'review policies are')} active: ${bySeveral} with approval by two or more people, ` +
        prose`${withPasskeys} with approvals signed with a passkey, ${allowingOwners} in which the agent’s owner may approve. ` +
        'Only members decide a request that such a policy routes, each with a credential of their own. The request keeps the rule ' +
        'under which it was made. The entries have the policy’s id and not its rule: the policy may have been changed or deleted since, ' +
        'which the account activity shows.',
    ),
    keys: finding(
      `${formatCount(agentsWithStaleKeys.length, 'active agent')} had a current key older than 90 days ${asOf}. A key can be ` +
        'replaced with a grace period or at once, and a replaced key ends at its deadline.',
    ),
    log: finding(describeLog(facts), facts.firstAndLast),
    retention: finding(
      'Entries are append-only: no call of the service changes one. They are erased with their agent, with the ' +
        'account, or at the end of their retention. This report does not show what the operator of the database could do.',
    ),
  };
}

function describeLog({ summary, sequences }: PeriodFacts): string {
  if (!sequences) return 'The log holds no entry of the period.';
  const { first, last } = sequences;
  const erased = last - first + 1 - summary.entries;
  return (
    prose`Entries are numbered without gaps. Those of the period lie between sequence ${first} and ${last}. Of these, ` +
    prose`${summary.entries} can be read; ${erased} were erased with a deleted agent, or will be. ` +
    'This figure excludes entries erased before the first or after the last of them. Each entry has the time, the ' +
    'agent, and the address and the client that caused it, or says that the service itself did.'
  );
}

/** The findings about what agents, people and policies did, except about who decided. */
function describeOperation({ entriesOf, summary, agents }: PeriodFacts) {
  const asking = agents.filter(({ counts }) => counts.requests > 0).length;
  const decisions = formatCount(summary.approved + summary.denied, 'decision');
  const byPeople = summary.approved_by_person + summary.denied_by_person;
  const byAccount = entriesOf('accountDecision').entries;
  const byPolicies = summary.approved_by_policy + summary.denied_by_policy;
  const approvals = entriesOf('personApproval', 'policyApproval', 'seriesApproval');
  const uses = entriesOf('use');
  const unused = entriesOf('unusedToken');
  const quick = entriesOf('quickDecision');
  const retried = entriesOf('retriedDenial');
  return {
    requests: finding(
      `${formatCount(summary.requests, 'request')} of ${formatCount(asking, 'agent')} ${wasOrWere(summary.requests)} recorded, each with action, resource and limits.`,
      entriesOf('request'),
    ),
    approvals: finding(
      prose`${countWas(summary.approved, 'request')} approved: ${summary.approved_by_person} by people, ${summary.approved_by_policy} by policies, ${summary.approved_by_series} by series that people gave. ` +
        'Each entry names the member, the account, the policy or the people behind the series that decided, and what was granted.',
      approvals,
    ),
    denials: finding(
      prose`${countWas(summary.denied, 'request')} denied: ${summary.denied_by_person} by people, ${summary.denied_by_policy} by policies.`,
      entriesOf('personDenial', 'policyDenial'),
    ),
    human: finding(
      prose`${byPeople} of ${decisions} ${wasOrWere(byPeople)} taken by people: ${byPeople - byAccount} with the credential of a ` +
        prose`member, whom the entry names, and ${byAccount} with the account’s own user tokens, which name no person. A program can hold a user token. ` +
        'Before an approval there is no token for the agent.',
      entriesOf('personApproval', 'personDenial'),
    ),
    automatic: finding(
      prose`Policies took ${byPolicies} of ${decisions} without a person; each entry names the policy.`,
      entriesOf('policyApproval', 'policyDenial'),
    ),
    quick: finding(
      `${formatCount(quick.entries, 'decision')} of people came within seconds of the request (see exceptions).`,
      quick,
    ),
    tokens: finding(
      `${countWas(summary.tokens_issued, 'token')} issued, one with each approval.`,
      approvals,
    ),
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
      `${countWas(summary.tokens_revoked, 'token')} revoked before the expiry; the service refuses a revoked token.`,
      entriesOf('revocation'),
    ),
    retries: finding(
      `${countWas(retried.entries, 'denial')} followed by the same request again (see exceptions).`,
      retried,
    ),
  };
}

/**
 * The findings about the segregation of duties: who decided, how many people, and whether they
 * signed.
 */
function describeDuties({
  entriesOf,
  summary,
  deciders,
  approvalsByPeople,
  configuration,
}: PeriodFacts) {
  const byPeople = summary.approved_by_person + summary.denied_by_person;
  const approvals = entriesOf('reviewedApproval').entries;
  const reviewed = entriesOf('reviewedApproval', 'reviewedDenial');
  const people = Object.entries(approvalsByPeople).map(
    ([count, entries]) => prose`${entries} by ${formatCount(Number(count), 'person', 'people')}`,
  );
  let approved = formatCount(approvals, 'approval');
  if (people.length > 0) approved += ` (${people.join(', ')})`;
  const members = deciders.filter(({ decided_by }) => deciderKind(decided_by) === 'member');
  const votes = members.reduce(
    (sum, { approved, denied, voted }) => sum + approved + denied + voted,
    0,
  );
  const signed = members.reduce((sum, one) => sum + one.signed, 0);
  const ownerApprovals = entriesOf('reviewedOwnerApproval', 'unreviewedOwnerApproval');
  const unreviewed = entriesOf('unreviewedDecision');
  const byAccount = entriesOf('accountDecision').entries;
  const byPolicies = summary.approved_by_policy + summary.denied_by_policy;
  const reviewPolicies = configuration.policies.filter(
    ({ effect, isActive }) => effect === 'review' && isActive,
  ).length;
  return {
    reviews: finding(
      prose`${reviewed.entries} of ${formatCount(byPeople, 'decision')} of people ${wasOrWere(reviewed.entries)} taken under a review policy: ` +
        `${approved} and ${formatCount(reviewed.entries - approvals, 'denial')}, ` +
        'for which one reviewer or the agent’s owner is enough. Each entry has every vote, with the member who cast it, and names the ' +
        'policy. It shows how many people approved, and not how many the policy demanded.',
      reviewed,
    ),
    signatures: finding(
      prose`${signed} of ${formatCount(votes, 'decision or vote', 'decisions and votes')} of members ${isOrAre(signed)} signed with a passkey. ` +
        'The public key is enough to check the signature in the entry, without the service. An unsigned decision shows that a ' +
        'credential of the member was used. It does not show that the member was there.',
      entriesOf('signedVote'),
    ),
    ownerApprovals: finding(
      `${countWas(ownerApprovals.entries, 'request')} approved by the member who owned the agent when the report was made: ` +
        prose`${entriesOf('reviewedOwnerApproval').entries} under a review policy, ${entriesOf('unreviewedOwnerApproval').entries} without one. ` +
        'The entries do not say who owned it before, or who decided with the account’s own user tokens. Under a review policy the ' +
        'service refuses approval by the member who owns the agent, or owned it when it asked, unless the policy allows it. ' +
        'Without one it does not.',
      ownerApprovals,
    ),
    series: finding(
      prose`${countWas(summary.approved_by_series, 'request')} approved by a series: people approved a first request and, with it, a number of ` +
        'like ones within limits and a time. Nobody saw the arguments of these acts before they were approved. ' +
        'Each entry names the first request and the members who gave the series, whose votes are in its entry.',
      entriesOf('seriesApproval'),
    ),
    unreviewed: finding(
      prose`${formatCount(unreviewed.entries, 'request')} that people decided ${wasOrWere(unreviewed.entries)} routed by no review policy: ${unreviewed.entries - byAccount} decided by ` +
        prose`one member each, ${byAccount} with the account’s own user tokens, which name no person. Policies took ` +
        `${formatCount(byPolicies, 'decision')} without people. ${formatCount(reviewPolicies, 'review policy was', 'review policies were')} active when the report was made; ` +
        'the entries do not say which existed when the agent asked.',
      unreviewed,
    ),
  };
}

/** The findings about changes of the configuration, from the account activity. */
function describeChanges({ activity }: PeriodFacts) {
  const count = (...actions: string[]) =>
    actions.reduce((sum, action) => sum + (activity.by_action[action] ?? 0), 0);
  const changes = (kind: string) => {
    const created = count(`${kind}.created`);
    const updated = count(`${kind}.updated`);
    const deleted = count(`${kind}.deleted`);
    return prose`${created} created, ${updated} changed, ${deleted} deleted`;
  };
  const rotations = count('agent.key_rotated');
  const requested = count('export.requested', 'report.requested');
  const downloads = count('export.downloaded', 'report.downloaded');
  return {
    agentChanges: finding(
      `Agents in the account activity: ${changes('agent')}. Once an agent is deleted, the service refuses its keys and tokens.`,
    ),
    policyChanges: finding(
      `Policies in the account activity: ${changes('policy')}; each with the member or the user token that did it.`,
    ),
    memberChanges: finding(
      prose`Members in the account activity: ${count('member.invited')} invited, ${count('member.joined')} joined, ` +
        prose`${count('member.updated')} changed, ${count('member.removed')} removed. The credentials of a removed member are refused ` +
        'at once; the decisions stand.',
    ),
    tokenChanges: finding(
      prose`User tokens in the account activity: ${count('user_token.created')} created, ${count('user_token.deleted')} deleted. ` +
        prose`Passkeys of members: ${count('passkey.added')} added, ${count('passkey.removed')} removed. ` +
        'A token cannot create another with rights that it lacks.',
    ),
    rotations: finding(
      `${formatCount(rotations, 'rotation')} of agent keys ${wasOrWere(rotations)} recorded.`,
    ),
    disclosures: finding(
      `${formatCount(requested, 'export or report', 'exports and reports')} of the log ${wasOrWere(requested)} requested, and ` +
        `${formatCount(downloads, 'download')} recorded. Reads through the API and deliveries by webhooks are not recorded ` +
        'in the account activity.',
    ),
  };
}

function finding(
  text: string,
  references: EntryReferences = { entries: 0, entry_ids: [] },
): Finding {
  return { text, ...references };
}
