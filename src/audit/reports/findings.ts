import type { Facts, Proof } from './facts';
import type { Control, Finding } from './report';
import { figure, things, were } from './text';

/** The sentences that controls of all frameworks are shown to hold by, each with the entries behind it. */
export type Findings = ReturnType<typeof findAll>;

/** The controls of a framework, as the findings speak to them. */
export type Framework = (findings: Findings) => Control[];

/** Says what was found, with its figures. Findings on the design come from the configuration and have no entries. */
export function findAll(facts: Facts) {
  return { ...findDesign(facts), ...findOperation(facts), ...findChanges(facts) };
}

function findDesign({ configuration, staleKeys, summary, reach, proofOf, period }: Facts) {
  const { agents, policies } = configuration;
  const active = policies.filter(({ isActive }) => isActive);
  const approving = active.filter(({ effect }) => effect === 'approve');
  const isOrAre = (count: number) => (count === 1 ? 'is' : 'are');
  const activeAgents = agents.filter(({ isActive }) => isActive).length;
  return {
    agents: bare(
      `${things(agents.length, 'agent')} ${isOrAre(agents.length)} registered, ${figure(activeAgents)} of them active. Each has a key of its own, of ` +
        'which a hash alone is stored; no two agents share one.',
    ),
    gate: bare(
      'An agent has no standing permission: for each action on each resource it has to ask, and a token is issued with ' +
        'the approval alone, in one transaction with the entry that records it. No agent key can decide a request.',
    ),
    limits: bare(
      'A token is for one action on one resource, carries the limits that were granted, a number of uses and an expiry of ' +
        'at most 24 hours. An approver can narrow what was asked for, and cannot widen it.',
    ),
    policies: bare(
      `${things(active.length, 'policy', 'policies')} ${isOrAre(active.length)} active: ${figure(approving.length)} that can approve, ` +
        `${figure(active.length - approving.length)} that deny. ` +
        `${figure(approving.filter(({ isBoundless }) => isBoundless).length)} of the former approve everything. Any denial that applies wins; what no policy decides waits for a person.`,
    ),
    keys: bare(
      `${things(staleKeys.length, 'active agent')} had a key older than 90 days at the end of ${period.end}. A key can be ` +
        'replaced with a grace period or at once, and a replaced key ends at its deadline.',
    ),
    log: {
      text: reach
        ? `Entries are numbered without gaps: those of the period lie between sequence ${figure(reach.first)} and ${figure(reach.last)}, of which ` +
          `${figure(summary.entries)} can be read; ${figure(reach.last - reach.first + 1 - summary.entries)} were erased with a deleted agent or wait for it. ` +
          'Each entry tells the time, the agent, the address and the client.'
        : 'The log has no entry in the period.',
      entries: summary.entries,
      entry_ids: reach ? proofOf('request').entry_ids.slice(0, 1) : [],
    },
    retention: bare(
      'Entries are append-only: no call of the service changes one. They are erased with the agent that they tell of, or ' +
        'when the retention of the plan is over.',
    ),
  };
}

function findOperation({ proofOf, summary }: Facts) {
  const decided = summary.approved + summary.denied;
  return {
    requests: proven(
      proofOf('request'),
      (n) =>
        `${things(n, 'request')} of ${things(summary.agents, 'agent')} ${were(n)} recorded, each with action, resource and limits.`,
    ),
    approvals: proven(
      proofOf('personApproval', 'policyApproval'),
      (n) =>
        `${things(n, 'request')} ${were(n)} approved: ${figure(summary.approved_by_person)} by people, ${figure(summary.approved_by_policy)} by policies. ` +
        'Each entry names who decided and what was granted.',
    ),
    denials: proven(
      proofOf('personDenial', 'policyDenial'),
      (n) =>
        `${things(n, 'request')} ${were(n)} denied: ${figure(summary.denied_by_person)} by people, ${figure(summary.denied_by_policy)} by policies.`,
    ),
    human: proven(
      proofOf('personApproval', 'personDenial'),
      (n) => `People took ${figure(n)} of ${things(decided, 'decision')}, each before the action could be taken.`,
    ),
    automatic: proven(
      proofOf('policyApproval', 'policyDenial'),
      (n) =>
        `Policies took ${figure(n)} of ${things(decided, 'decision')} without a person; each entry names the policy.`,
    ),
    quick: proven(
      proofOf('quickDecision'),
      (n) => `${things(n, 'decision')} of people came within seconds of the request (see exceptions).`,
    ),
    tokens: proven(
      proofOf('personApproval', 'policyApproval'),
      (n) => `${things(n, 'token')} ${were(n)} issued, one with each approval.`,
    ),
    uses: proven(
      proofOf('use'),
      (n) => `${things(n, 'use')} of ${things(summary.tokens_used, 'token')} ${were(n)} recorded, one entry each.`,
    ),
    unused: proven(
      proofOf('unusedToken'),
      (n) => `${things(n, 'token')} expired without a use: access ended by itself.`,
    ),
    undecided: proven(
      proofOf('undecidedRequest'),
      (n) => `${things(n, 'request')} expired undecided: without a decision there is no access.`,
    ),
    revocations: proven(
      proofOf('revocation'),
      (n) => `${things(n, 'token')} ${were(n)} revoked before the end; from then on it could not be used.`,
    ),
    retries: proven(
      proofOf('retriedDenial'),
      (n) => `${things(n, 'denial')} ${were(n)} followed by the same request again (see exceptions).`,
    ),
  };
}

function findChanges({ activity }: Facts) {
  const count = (action: string) => activity.by_action[action] ?? 0;
  const changes = (kind: string) =>
    `${figure(count(`${kind}.created`))} created, ${figure(count(`${kind}.updated`))} changed, ${figure(count(`${kind}.deleted`))} deleted`;
  const rotations = count('agent.key_rotated');
  return {
    agentChanges: bare(
      `Agents in the account activity: ${changes('agent')}. Deletion ends an agent’s keys and tokens at once.`,
    ),
    policyChanges: bare(`Policies in the account activity: ${changes('policy')}; each with who did it.`),
    tokenChanges: bare(
      `User tokens in the account activity: ${figure(count('user_token.created'))} created, ${figure(count('user_token.deleted'))} deleted. ` +
        'A token cannot create another with rights that it lacks.',
    ),
    rotations: bare(`${things(rotations, 'agent key')} ${were(rotations)} rotated.`),
    disclosures: bare(
      `${figure(count('export.requested') + count('report.requested'))} exports and reports of the log were asked for, ` +
        `${figure(count('export.downloaded') + count('report.downloaded'))} downloaded.`,
    ),
  };
}

/** A sentence that no entry is behind. */
function bare(text: string): Finding {
  return { text, entries: 0, entry_ids: [] };
}

function proven(proof: Proof, say: (entries: number) => string): Finding {
  return { text: say(proof.entries), ...proof };
}
