import { deciderKind } from '../lib/decider';
import type { DeciderFigures, ReportException } from './content';
import { QUICK_DECISION_MS, RETRY_WINDOW } from './entry-group';
import type { PeriodFacts } from './gather-facts';
import {
  countWas,
  formatCount,
  formatPercentage,
  listNames,
  prose,
  quoteName,
  roleWithArticle,
  wasOrWere,
} from './wording';

/** Fewer decisions are too few to judge a share of them. */
const MANY_DECISIONS = 10;
/** A decider with at least this share of the decisions is an exception. */
const NEARLY_ALL = 0.9;

const FINDERS: ((facts: PeriodFacts) => ReportException[])[] = [
  findUnrestrictedPolicies,
  findChangedPolicies,
  findQuickDecisions,
  findDominantDecider,
  findOwnerApprovals,
  findStaleKeys,
  findUnusualEnds,
  findQuietAgents,
];

const SEVERITY_ORDER = { high: 0, medium: 1, low: 2 };

/** Finds what is unusual in the period, and returns the most severe first. */
export function findExceptions(facts: PeriodFacts): ReportException[] {
  return FINDERS.flatMap((find) => find(facts)).sort(
    (a, b) => SEVERITY_ORDER[a.severity] - SEVERITY_ORDER[b.severity],
  );
}

function findUnrestrictedPolicies({ configuration, decisionsBy }: PeriodFacts): ReportException[] {
  return configuration.policies.flatMap(
    ({ id, name, effect, isActive, isUnrestricted, budget }) => {
      const decisions = decisionsBy(id);
      if (effect !== 'approve' || !isUnrestricted || (!isActive && decisions.entries === 0))
        return [];
      const limited = budget === null ? '' : ' It does so within a budget only.';
      const inactive = isActive ? '' : ' It is inactive now.';
      const text =
        `The policy ${quoteName(name)} (${id}) approves every action on every resource for every agent, without conditions, unless ` +
        `another one denies.${limited} It took ${formatCount(decisions.entries, 'decision')} in the period. It is shown as it stood when the report ` +
        `was made.${inactive}`;
      return [{ kind: 'policy_approves_everything', severity: 'high', text, ...decisions }];
    },
  );
}

/** Finds policies that may have decided by other rules than those they have now. */
function findChangedPolicies({
  configuration,
  deciders,
  decisionsBy,
  from,
}: PeriodFacts): ReportException[] {
  const changedAt = new Map<string, number>(
    configuration.policies.map((policy) => [policy.id, policy.changedAt]),
  );
  // A decider that is not among the current policies was deleted.
  const changed = deciders.filter(
    ({ kind, decided_by }) => kind === 'policy' && (changedAt.get(decided_by) ?? Infinity) >= from,
  );
  if (changed.length === 0) return [];
  const names = changed.map(({ decided_by: id, name }) => {
    if (name === null) return `${id} (deleted)`;
    return nameWithId({ name, id });
  });
  const decisions = decisionsBy(...changed.map(({ decided_by }) => decided_by));
  const text =
    `${formatCount(changed.length, 'policy', 'policies')} that took ${formatCount(decisions.entries, 'decision')} in the period ${wasOrWere(changed.length)} ` +
    `deleted, or changed after the period began: ${listNames(names)}. They may have decided by other rules than those they have now; ` +
    'the account activity shows when they changed.';
  return [{ kind: 'policy_not_as_it_decided', severity: 'medium', text, ...decisions }];
}

function findQuickDecisions({ entriesOf, summary }: PeriodFacts): ReportException[] {
  const quick = entriesOf('quickDecision');
  if (quick.entries === 0) return [];
  const decisions = summary.approved_by_person + summary.denied_by_person;
  const areMany = quick.entries * 2 >= decisions && quick.entries >= MANY_DECISIONS;
  const severity = areMany ? 'high' : 'medium';
  const text =
    `${formatCount(quick.entries, 'decision')} of people ${wasOrWere(quick.entries)} taken within ${QUICK_DECISION_MS / 1_000} seconds of the ` +
    prose`request (${formatPercentage(quick.entries, decisions)} of ${decisions}): too soon to weigh it, or taken by a program with a ` +
    'user token.';
  return [{ kind: 'quick_decision', severity, text, ...quick }];
}

/** Finds the decider that took nearly all decisions, without a vote of anybody else. */
function findDominantDecider({ deciders, decisionsBy }: PeriodFacts): ReportException[] {
  const total = deciders.reduce((sum, { approved, denied }) => sum + approved + denied, 0);
  const [first] = deciders;
  if (!first || total < MANY_DECISIONS) return [];
  const decisions = decisionsBy(first.decided_by);
  if (decisions.entries < NEARLY_ALL * total) return [];
  const part = prose`${formatCount(decisions.entries, 'decision')} of ${total} (${formatPercentage(decisions.entries, total)})`;
  const severity = first.kind === 'policy' ? 'low' : 'medium';
  return [{ kind: 'one_decider', severity, text: describeDominance(first, part), ...decisions }];
}

function describeDominance(
  { decided_by: id, kind, name, role }: DeciderFigures,
  part: string,
): string {
  let who = id;
  if (name !== null) who = nameWithId({ name, id });
  if (kind === 'policy')
    return `One policy, ${who}, took ${part}: what it allows is in effect what is allowed.`;
  if (deciderKind(id) === 'member') {
    if (role !== null) who += `, ${roleWithArticle(role)}`;
    return `One member, ${who}, took ${part} alone: nobody else voted on these requests.`;
  }
  return (
    `${part} were taken with the account’s own user tokens (${id}), which name no person: the log cannot show whether one person took ` +
    'them or several, nor that duties are separated. Only the addresses and clients in the entries can tell them apart.'
  );
}

function findOwnerApprovals({ entriesOf }: PeriodFacts): ReportException[] {
  const approvals = entriesOf('reviewedOwnerApproval', 'unreviewedOwnerApproval');
  if (approvals.entries === 0) return [];
  const text =
    `${countWas(approvals.entries, 'request')} approved by the member who owned the agent when the report was ` +
    prose`made: ${entriesOf('reviewedOwnerApproval').entries} under a review policy, ${entriesOf('unreviewedOwnerApproval').entries} without one. The entries do not say ` +
    'who owned it when it asked.';
  return [{ kind: 'approved_by_owner', severity: 'medium', text, ...approvals }];
}

function findStaleKeys({ agentsWithStaleKeys, asOf }: PeriodFacts): ReportException[] {
  if (agentsWithStaleKeys.length === 0) return [];
  const text =
    `${formatCount(agentsWithStaleKeys.length, 'active agent')} had, ${asOf}, a current key made more than 90 days before: ` +
    `${listNames(agentsWithStaleKeys.map(nameWithId))}.`;
  return [{ kind: 'key_not_rotated', severity: 'medium', text, ...NO_ENTRIES }];
}

function findUnusualEnds({ entriesOf, summary, outcomes }: PeriodFacts): ReportException[] {
  const retried = entriesOf('retriedDenial');
  const unused = entriesOf('unusedToken');
  const undecided = entriesOf('undecidedRequest');
  const revoked = entriesOf('revocation');
  const { succeeded, failed, awaited } = outcomes;
  const promised = succeeded + failed + outcomes.unknown + awaited;
  const unknown = entriesOf('unknownOutcome');
  const ends: ReportException[] = [
    {
      kind: 'outcome_unknown',
      severity: 'medium',
      text:
        prose`${formatCount(unknown.entries, 'act')} of ${formatCount(promised, 'act')} whose programs promised to report ${wasOrWere(unknown.entries)} never ` +
        'reported as succeeded or failed: whether they happened is unknown. The report lists them.',
      ...unknown,
    },
    {
      kind: 'denied_action_retried',
      severity: 'medium',
      text:
        prose`${retried.entries} of ${formatCount(summary.denied, 'denial')} ${wasOrWere(retried.entries)} followed by the same request: the agent asked again for the ` +
        `same action on the same resource, among its next ${RETRY_WINDOW} requests for that action.`,
      ...retried,
    },
    {
      kind: 'token_never_used',
      severity: unused.entries * 2 >= summary.tokens_issued ? 'medium' : 'low',
      text:
        prose`${formatCount(unused.entries, 'token')} expired without a single recorded use, against ${summary.tokens_issued} issued in the period: ` +
        'access that was granted and, as far as the service was told, not needed.',
      ...unused,
    },
    {
      kind: 'request_undecided',
      severity: 'low',
      text: `${formatCount(undecided.entries, 'request')} expired before anybody decided.`,
      ...undecided,
    },
    {
      kind: 'token_revoked',
      severity: 'low',
      text:
        `${countWas(revoked.entries, 'token')} revoked before the expiry. Each entry says by whom, and why if a reason ` +
        'was given.',
      ...revoked,
    },
  ];
  return ends.filter(({ entries }) => entries > 0);
}

function findQuietAgents({ quietAgents }: PeriodFacts): ReportException[] {
  if (quietAgents.length === 0) return [];
  const text =
    `${formatCount(quietAgents.length, 'active agent')} without an entry that the report covers: ${listNames(quietAgents.map(nameWithId))}. An agent ` +
    'that is not needed holds a valid key all the same.';
  return [{ kind: 'agent_without_activity', severity: 'low', text, ...NO_ENTRIES }];
}

function nameWithId({ name, id }: { name: string; id: string }): string {
  return `${quoteName(name)} (${id})`;
}

const NO_ENTRIES = { entries: 0, entry_ids: [] };
