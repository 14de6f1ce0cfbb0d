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

function findDesign({ configuration, staleKeys, summary, reach, firstAndLast, asOf }: Facts) {
  const { agents, policies } = configuration;
  const active = policies.filter(({ isActive }) => isActive);
  const approving = active.filter(({ effect }) => effect === 'approve');
  const isOrAre = (count: number) => (count === 1 ? 'is' : 'are');
  const activeAgents = agents.filter(({ isActive }) => isActive).length;
  return {
    agents: bare(
      `${things(agents.length, 'agent')} ${isOrAre(agents.length)} registered, ${figure(activeAgents)} of them active. Each has a key of its own, of ` +
        'which the service keeps a hash and the first 12 characters, and for 24 hours an encrypted copy where it was issued under ' +
        'an idempotency key; no two agents share one.',
    ),
    gate: bare(
      'An agent’s key by itself permits no action: for each action on each resource the agent has to ask, and a token is issued ' +
        'with an approval alone, by a user token or by a policy, in one transaction with the entry that records it. No agent ' +
        'key can decide a request.',
    ),
    limits: bare(
      'A token is for one action on one resource, carries the limits that were granted, a number of uses and an expiry of ' +
        'at most 7 days. An approver can narrow what was asked for, and cannot widen it. The number of uses and a revocation ' +
        'hold where the service is asked: a system that checks the signature and the expiry alone does not learn of them.',
    ),
    policies: bare(
      `${things(active.length, 'policy', 'policies')} ${isOrAre(active.length)} active: ${figure(approving.length)} that can approve, ` +
        `${figure(active.length - approving.length)} that deny. ` +
        `${figure(approving.filter(({ isBoundless }) => isBoundless).length)} of the former approve everything that none of ` +
        'the latter denies. Any denial that applies wins; what no policy decides waits for a user token.',
    ),
    keys: bare(
      `${things(staleKeys.length, 'active agent')} had a current key older than 90 days ${asOf}. A key can be ` +
        'replaced with a grace period or at once, and a replaced key ends at its deadline.',
    ),
    log: {
      text: reach
        ? `Entries are numbered without gaps: those of the period lie between sequence ${figure(reach.first)} and ${figure(reach.last)}, of which ` +
          `${figure(summary.entries)} can be read; ${figure(reach.last - reach.first + 1 - summary.entries)} were erased with a deleted agent or wait for it. ` +
          'What was erased before the first or after the last of them is not in this figure. Each entry tells the time, the ' +
          'agent, and the address and the client that caused it, or that the service itself did.'
        : 'The log holds no entry of the period.',
      ...firstAndLast,
    },
    retention: bare(
      'Entries are append-only: no call of the service changes one. They are erased with the agent that they tell of, with the ' +
        'account, or when its retention is over. What the operator of the database could do, this report does not show.',
    ),
  };
}

function findOperation({ proofOf, summary, agents }: Facts) {
  const asking = agents.filter(({ counts }) => counts.requests > 0).length;
  const decided = summary.approved + summary.denied;
  return {
    requests: proven(
      proofOf('request'),
      (n) =>
        `${things(n, 'request')} of ${things(asking, 'agent')} ${were(n)} recorded, each with action, resource and limits.`,
    ),
    approvals: proven(
      proofOf('personApproval', 'policyApproval'),
      (n) =>
        `${things(n, 'request')} ${were(n)} approved: ${figure(summary.approved_by_person)} by people, ${figure(summary.approved_by_policy)} by policies. ` +
        'Each entry names the account or the policy that decided, and what was granted.',
    ),
    denials: proven(
      proofOf('personDenial', 'policyDenial'),
      (n) =>
        `${things(n, 'request')} ${were(n)} denied: ${figure(summary.denied_by_person)} by people, ${figure(summary.denied_by_policy)} by policies.`,
    ),
    human: proven(
      proofOf('personApproval', 'personDenial'),
      (n) =>
        `${figure(n)} of ${things(decided, 'decision')} ${were(n)} taken with a user token of the account: by a person, or by a program ` +
        'that holds one. Before an approval there is no token.',
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
      (n) => `${things(n, 'token')} expired without a recorded use: access ended by itself.`,
    ),
    undecided: proven(
      proofOf('undecidedRequest'),
      (n) => `${things(n, 'request')} expired undecided: without a decision there is no access.`,
    ),
    revocations: proven(
      proofOf('revocation'),
      (n) => `${things(n, 'token')} ${were(n)} revoked before the end; from then on the service refuses it.`,
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
  const orders = count('export.requested') + count('report.requested');
  const downloads = count('export.downloaded') + count('report.downloaded');
  return {
    agentChanges: bare(
      `Agents in the account activity: ${changes('agent')}. From a deletion on the service refuses the agent’s keys and tokens.`,
    ),
    policyChanges: bare(
      `Policies in the account activity: ${changes('policy')}; each with the user token that did it.`,
    ),
    tokenChanges: bare(
      `User tokens in the account activity: ${figure(count('user_token.created'))} created, ${figure(count('user_token.deleted'))} deleted. ` +
        'A token cannot create another with rights that it lacks.',
    ),
    rotations: bare(`${things(rotations, 'rotation')} of agent keys ${were(rotations)} recorded.`),
    disclosures: bare(
      `${things(orders, 'export or report', 'exports and reports')} of the log ${were(orders)} asked for, and ` +
        `${things(downloads, 'download')} recorded. Who reads the log through the API, and what webhooks deliver, is not recorded ` +
        'in the account activity.',
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
