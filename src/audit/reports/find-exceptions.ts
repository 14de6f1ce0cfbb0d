import type { EntryReferences, ReportException } from './content';
import { QUICK_DECISION, RETRY_REQUESTS } from './figures';
import type { PeriodFacts } from './gather-facts';
import type { CurrentPolicy } from './read-account';
import { formatCount, formatNumber, formatPercentage, listNames, quoteName, wasOrWere } from './wording';

/** The fewest decisions from which a report concludes something about their share. */
const MANY_DECISIONS = 10;
/** A decider with this share of the decisions is an exception. */
const NEARLY_ALL = 0.9;

/** Each looks for one kind of exception. */
const FINDERS: ((facts: PeriodFacts) => ReportException[])[] = [
  findUnrestrictedPolicies,
  findChangedPolicies,
  findQuickDecisions,
  findDominantDecider,
  findStaleKeys,
  findRetriedDenials,
  findUnusedTokens,
  findUndecidedRequests,
  findRevocations,
  findQuietAgents,
];

const SEVERITY_ORDER = { high: 0, medium: 1, low: 2 };

/** Finds everything that an auditor should look at, the most severe first. */
export function findExceptions(facts: PeriodFacts): ReportException[] {
  return FINDERS.flatMap((find) => find(facts)).sort((a, b) => SEVERITY_ORDER[a.severity] - SEVERITY_ORDER[b.severity]);
}

function findUnrestrictedPolicies({ configuration, decisionsBy }: PeriodFacts): ReportException[] {
  return configuration.policies
    .map((policy) => ({ policy, decisions: decisionsBy(policy.id) }))
    .filter(
      ({ policy, decisions }) =>
        policy.effect === 'approve' && policy.isUnrestricted && (policy.isActive || decisions.entries > 0),
    )
    .map(({ policy: { id, name, isActive }, decisions }) => {
      const state = isActive ? '' : ' It is inactive now.';
      return {
        kind: 'policy_approves_everything',
        severity: 'high',
        text:
          `The policy ${quoteName(name)} (${id}) approves every action on every resource for every agent, without conditions, unless ` +
          `another one denies. It took ${formatCount(decisions.entries, 'decision')} in the period. It is shown as it stood when the report ` +
          `was made.${state}`,
        ...decisions,
      };
    });
}

/**
 * Policies that were deleted or changed since the period began: they may have decided by other rules than the current
 * ones.
 */
function findChangedPolicies({ configuration, deciders, decisionsBy, period }: PeriodFacts): ReportException[] {
  const current = new Map<string, CurrentPolicy>(configuration.policies.map((policy) => [policy.id, policy]));
  const changed = deciders.filter(
    ({ kind, decided_by }) => kind === 'policy' && (current.get(decided_by)?.changedAt ?? Infinity) >= period.from,
  );
  if (changed.length === 0) return [];
  const names = changed.map(({ decided_by: id, name }) =>
    name === null ? `${id} (deleted)` : nameWithId({ name, id }),
  );
  const decisions = decisionsBy(...changed.map(({ decided_by }) => decided_by));
  return [
    {
      kind: 'policy_not_as_it_decided',
      severity: 'medium',
      text:
        `${formatCount(changed.length, 'policy', 'policies')} that took ${formatCount(decisions.entries, 'decision')} in the period ${wasOrWere(changed.length)} ` +
        `deleted, or changed after it began: ${listNames(names)}. The rules by which they decided may not be those that stand; the ` +
        'account activity tells when they changed.',
      ...decisions,
    },
  ];
}

function findQuickDecisions({ entriesOf, summary }: PeriodFacts): ReportException[] {
  const quick = entriesOf('quickDecision');
  const decisions = summary.approved_by_person + summary.denied_by_person;
  return exceptionIfAny(
    quick,
    'quick_decision',
    quick.entries * 2 >= decisions && quick.entries >= MANY_DECISIONS ? 'high' : 'medium',
    `${formatCount(quick.entries, 'decision')} of people ${wasOrWere(quick.entries)} taken within ${QUICK_DECISION / 1_000} seconds of the ` +
      `request (${formatPercentage(quick.entries, decisions)} of ${formatNumber(decisions)}): too soon to weigh it, or taken by a program with a ` +
      'user token.',
  );
}

function findDominantDecider({ deciders, decisionsBy }: PeriodFacts): ReportException[] {
  const total = deciders.reduce((sum, { approved, denied }) => sum + approved + denied, 0);
  const [first] = deciders;
  if (!first || total < MANY_DECISIONS || first.approved + first.denied < NEARLY_ALL * total) return [];
  const { decided_by, kind, name } = first;
  const decisions = decisionsBy(decided_by);
  const part = `${formatCount(decisions.entries, 'decision')} of ${formatNumber(total)} (${formatPercentage(decisions.entries, total)})`;
  if (kind === 'policy') {
    const text = `One policy, ${name === null ? '' : `${quoteName(name)} `}(${decided_by}), took ${part}: what it allows is in effect what is allowed.`;
    return [{ kind: 'one_decider', severity: 'low', text, ...decisions }];
  }
  const text =
    `One decider, the account ${decided_by}, took ${part}. The log records the decisions of all people of an account under ` +
    'the account: it cannot show whether one person took them or several, nor that duties are separated. The ' +
    'addresses and clients in the entries are what there is to tell them apart.';
  return [{ kind: 'one_decider', severity: 'medium', text, ...decisions }];
}

function findStaleKeys({ agentsWithStaleKeys: staleKeys, asOf }: PeriodFacts): ReportException[] {
  if (staleKeys.length === 0) return [];
  const text =
    `${formatCount(staleKeys.length, 'active agent')} had, ${asOf}, a current key made more than 90 days before: ` +
    `${listNames(staleKeys.map(nameWithId))}.`;
  return [{ kind: 'key_not_rotated', severity: 'medium', text, ...NO_ENTRIES }];
}

function findRetriedDenials({ entriesOf, summary }: PeriodFacts): ReportException[] {
  const retried = entriesOf('retriedDenial');
  return exceptionIfAny(
    retried,
    'denied_action_retried',
    'medium',
    `${formatNumber(retried.entries)} of ${formatCount(summary.denied, 'denial')} ${wasOrWere(retried.entries)} followed by the same request: the agent asked again for the ` +
      `same action on the same resource, among its next ${RETRY_REQUESTS} requests for that action.`,
  );
}

function findUnusedTokens({ entriesOf, summary }: PeriodFacts): ReportException[] {
  const unused = entriesOf('unusedToken');
  return exceptionIfAny(
    unused,
    'token_never_used',
    unused.entries * 2 >= summary.tokens_issued ? 'medium' : 'low',
    `${formatCount(unused.entries, 'token')} ran out without a single recorded use, against ${formatNumber(summary.tokens_issued)} issued in the period: ` +
      'access that was granted and, as far as the service was told, not needed.',
  );
}

function findUndecidedRequests({ entriesOf }: PeriodFacts): ReportException[] {
  const undecided = entriesOf('undecidedRequest');
  const text = `${formatCount(undecided.entries, 'request')} ran out before anybody decided.`;
  return exceptionIfAny(undecided, 'request_undecided', 'low', text);
}

function findRevocations({ entriesOf }: PeriodFacts): ReportException[] {
  const revoked = entriesOf('revocation');
  return exceptionIfAny(
    revoked,
    'token_revoked',
    'low',
    `${formatCount(revoked.entries, 'token')} ${wasOrWere(revoked.entries)} revoked before the end. Each entry tells by whom, and why where a reason ` +
      'was given.',
  );
}

function findQuietAgents({ quietAgents }: PeriodFacts): ReportException[] {
  if (quietAgents.length === 0) return [];
  const text =
    `${formatCount(quietAgents.length, 'active agent')} without an entry that the report covers: ${listNames(quietAgents.map(nameWithId))}. An agent ` +
    'that is not needed holds a valid key all the same.';
  return [{ kind: 'agent_without_activity', severity: 'low', text, ...NO_ENTRIES }];
}

function exceptionIfAny(
  references: EntryReferences,
  kind: string,
  severity: ReportException['severity'],
  text: string,
): ReportException[] {
  return references.entries === 0 ? [] : [{ kind, severity, text, ...references }];
}

function nameWithId({ name, id }: { name: string; id: string }): string {
  return `${quoteName(name)} (${id})`;
}

const NO_ENTRIES = { entries: 0, entry_ids: [] };
