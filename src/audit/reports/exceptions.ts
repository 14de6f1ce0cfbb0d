import type { StandingPolicy } from './configuration';
import type { Facts } from './facts';
import { QUICK_DECISION, RETRY_REACH } from './figures';
import type { ReportException } from './report';
import { figure, quote, share, someOf, things, were } from './text';

/** Of fewer decisions nothing follows about who decides how much. */
const MANY_DECISIONS = 10;
/** Who has this part of the decisions decides nearly everything. */
const NEARLY_ALL = 0.9;

type Finder = (facts: Facts) => ReportException[];

const FINDERS: Finder[] = [
  findBoundlessPolicies,
  findLostPolicies,
  findQuickDecisions,
  findConcentration,
  findStaleKeys,
  findRetriedDenials,
  findUnusedTokens,
  findUndecidedRequests,
  findRevocations,
  findQuietAgents,
];

const WEIGHT = { high: 0, medium: 1, low: 2 };

/** Finds what deserves an auditor's eye, the gravest first. */
export function findExceptions(facts: Facts): ReportException[] {
  return FINDERS.flatMap((find) => find(facts)).sort((a, b) => WEIGHT[a.severity] - WEIGHT[b.severity]);
}

function findBoundlessPolicies({ configuration, decisionsOf }: Facts): ReportException[] {
  return configuration.policies
    .map((policy) => ({ policy, proof: decisionsOf(policy.id) }))
    .filter(
      ({ policy, proof }) =>
        policy.effect === 'approve' && policy.isBoundless && (policy.isActive || proof.entries > 0),
    )
    .map(({ policy: { id, name, isActive }, proof }) => {
      const state = isActive ? '' : ' It has been switched off since.';
      return {
        kind: 'policy_approves_everything',
        severity: 'high',
        text:
          `The policy ${quote(name)} (${id}) approves every action on every resource for every agent, without conditions, unless ` +
          `another one denies. It took ${things(proof.entries, 'decision')} in the period. It is shown as it stood when the report ` +
          `was made.${state}`,
        ...proof,
      };
    });
}

/** Policies that decided by rules that may not be those that stand. */
function findLostPolicies({ configuration, deciders, decisionsOf, period }: Facts): ReportException[] {
  const standing = new Map<string, StandingPolicy>(configuration.policies.map((policy) => [policy.id, policy]));
  const lost = deciders.filter(
    ({ kind, decided_by }) => kind === 'policy' && (standing.get(decided_by)?.changedAt ?? Infinity) >= period.from,
  );
  if (lost.length === 0) return [];
  const names = lost.map(({ decided_by: id, name }) => (name === null ? `${id} (deleted)` : describe({ name, id })));
  const proof = decisionsOf(...lost.map(({ decided_by }) => decided_by));
  return [
    {
      kind: 'policy_not_as_it_decided',
      severity: 'medium',
      text:
        `${things(lost.length, 'policy', 'policies')} that took ${things(proof.entries, 'decision')} in the period ${were(lost.length)} ` +
        `deleted, or changed after it began: ${someOf(names)}. The rules by which they decided may not be those that stand; the ` +
        'account activity tells when they changed.',
      ...proof,
    },
  ];
}

function findQuickDecisions({ proofOf, summary }: Facts): ReportException[] {
  const proof = proofOf('quickDecision');
  const decisions = summary.approved_by_person + summary.denied_by_person;
  if (proof.entries === 0) return [];
  return [
    {
      kind: 'quick_decision',
      severity: proof.entries * 2 >= decisions && proof.entries >= MANY_DECISIONS ? 'high' : 'medium',
      text:
        `${things(proof.entries, 'decision')} of people ${were(proof.entries)} taken within ${QUICK_DECISION / 1_000} seconds of the ` +
        `request (${share(proof.entries, decisions)} of ${figure(decisions)}): too soon to weigh it, or taken by a program with a ` +
        'user token.',
      ...proof,
    },
  ];
}

function findConcentration({ deciders, decisionsOf }: Facts): ReportException[] {
  const all = deciders.reduce((sum, { approved, denied }) => sum + approved + denied, 0);
  const [first] = deciders;
  if (!first || all < MANY_DECISIONS || first.approved + first.denied < NEARLY_ALL * all) return [];
  const { decided_by, kind, name } = first;
  const proof = decisionsOf(decided_by);
  const part = `${things(proof.entries, 'decision')} of ${figure(all)} (${share(proof.entries, all)})`;
  if (kind === 'policy') {
    const text = `One policy, ${name === null ? '' : `${quote(name)} `}(${decided_by}), took ${part}: what it allows is in effect what is allowed.`;
    return [{ kind: 'one_decider', severity: 'low', text, ...proof }];
  }
  return [
    {
      kind: 'one_decider',
      severity: 'medium',
      text:
        `One decider, the account ${decided_by}, took ${part}. The log records the decisions of all people of an account under ` +
        'the account: it cannot show whether one person took them or several, nor that duties are separated. The ' +
        'addresses and clients in the entries are what there is to tell them apart.',
      ...proof,
    },
  ];
}

function findStaleKeys({ staleKeys, asOf }: Facts): ReportException[] {
  if (staleKeys.length === 0) return [];
  return [
    {
      kind: 'key_not_rotated',
      severity: 'medium',
      text:
        `${things(staleKeys.length, 'active agent')} had, ${asOf}, a current key made more than 90 days before: ` +
        `${someOf(staleKeys.map(describe))}.`,
      ...NO_ENTRIES,
    },
  ];
}

function findRetriedDenials({ proofOf, summary }: Facts): ReportException[] {
  const proof = proofOf('retriedDenial');
  if (proof.entries === 0) return [];
  return [
    {
      kind: 'denied_action_retried',
      severity: 'medium',
      text:
        `${figure(proof.entries)} of ${things(summary.denied, 'denial')} ${were(proof.entries)} followed by the same request: the agent asked again for the ` +
        `same action on the same resource, among its next ${RETRY_REACH} requests for that action.`,
      ...proof,
    },
  ];
}

function findUnusedTokens({ proofOf, summary }: Facts): ReportException[] {
  const proof = proofOf('unusedToken');
  if (proof.entries === 0) return [];
  return [
    {
      kind: 'token_never_used',
      severity: proof.entries * 2 >= summary.tokens_issued ? 'medium' : 'low',
      text:
        `${things(proof.entries, 'token')} ran out without a single recorded use, against ${figure(summary.tokens_issued)} issued in the period: ` +
        'access that was granted and, as far as the service was told, not needed.',
      ...proof,
    },
  ];
}

function findUndecidedRequests({ proofOf }: Facts): ReportException[] {
  const proof = proofOf('undecidedRequest');
  if (proof.entries === 0) return [];
  const text = `${things(proof.entries, 'request')} ran out before anybody decided.`;
  return [{ kind: 'request_undecided', severity: 'low', text, ...proof }];
}

function findRevocations({ proofOf }: Facts): ReportException[] {
  const proof = proofOf('revocation');
  if (proof.entries === 0) return [];
  const text =
    `${things(proof.entries, 'token')} ${were(proof.entries)} revoked before the end. Each entry tells by whom, and why where a reason ` +
    'was given.';
  return [{ kind: 'token_revoked', severity: 'low', text, ...proof }];
}

function findQuietAgents({ quietAgents }: Facts): ReportException[] {
  if (quietAgents.length === 0) return [];
  return [
    {
      kind: 'agent_without_activity',
      severity: 'low',
      text:
        `${things(quietAgents.length, 'active agent')} without an entry that the report covers: ${someOf(quietAgents.map(describe))}. An agent ` +
        'that is not needed holds a valid key all the same.',
      ...NO_ENTRIES,
    },
  ];
}

function describe({ name, id }: { name: string; id: string }): string {
  return `${quote(name)} (${id})`;
}

const NO_ENTRIES = { entries: 0, entry_ids: [] };
