import type { Child } from 'hono/jsx';
import type { NumberFormat } from '../../lib/number-format';
import type { Policy } from '../../policies/policy';
import { usePage } from '../frame/page-context';
import { FieldFault, SelectField, TextField } from '../parts/fields';
import { Badge, Code, joinElements, Time } from '../parts/inline';
import { useFault, useRefusal } from '../parts/refusal';
import { onOrOff, pluralOf } from '../parts/words';
import type { PolicyValues, ShownPolicy } from './values';

type Budget = NonNullable<Policy['budget']>;

const PERIODS = [
  ['', 'No budget'],
  ['total', 'In all'],
  ['hour', 'Each hour'],
  ['day', 'Each day'],
  ['month', 'Each month'],
] as const;

/** The fields of how much a policy approves, and until when. */
export function BudgetFields({ values }: { values: PolicyValues }) {
  const isUsed = [
    values.budget_per,
    values.budget_requests,
    values.budget_key,
    values.budget_max,
    values.expires_at,
  ].some((text) => text !== '');
  const faults = ['budget', 'expires_at'].map(useFault);
  return (
    <details class="card only-approve" open={isUsed || faults.some(Boolean)}>
      <summary>Budget and expiry</summary>
      <p class="hint">
        The budget is for all agents together. Once it is used up, the policy no longer applies: the
        next policy does, or people decide. Hours, days and months are in UTC.{' '}
        <span class="if-plain">Used only if the effect is to approve.</span>
      </p>
      <FieldFault text={useRefusal()?.faults.get('budget')} />
      <div class="fields">
        <SelectField
          label="Budget"
          name="budget_per"
          value={values.budget_per}
          options={PERIODS}
          path="budget.per"
        />
        <TextField
          label="Requests at most"
          name="budget_requests"
          type="number"
          value={values.budget_requests}
          hint="Empty: any number."
          path="budget.requests"
        />
        <TextField
          label="Limit that is added up"
          name="budget_key"
          value={values.budget_key}
          placeholder="amount"
          hint="Each approval adds its value, multiplied by the granted uses. Empty: none."
          path="budget.sum.key"
        />
        <TextField
          label="Sum at most"
          name="budget_max"
          value={values.budget_max}
          placeholder="500"
          hint="The policy does not apply to requests in which that limit is not a number."
          path="budget.sum.max"
        />
        <TextField
          label="Expires (UTC)"
          name="expires_at"
          type="datetime-local"
          step="any"
          value={values.expires_at}
          hint="Empty: never."
        />
      </div>
    </details>
  );
}

const EACH = { total: 'In all', hour: 'Each hour', day: 'Each day', month: 'Each month' };

/** The budget of a policy and when it expires, as sentences. */
export function BudgetSentence({
  policy: { budget, expires_at: expiresAt },
}: {
  policy: Pick<ShownPolicy, 'budget' | 'expires_at'>;
}) {
  const { now, formatNumber } = usePage();
  const isOver = expiresAt !== null && Date.parse(expiresAt) <= now;
  return (
    <>
      {budget && (
        <>
          {' '}
          {EACH[budget.per]}
          {budget.per !== 'total' && ' (UTC)'} at most{' '}
          {joinElements(limitsOf(budget, formatNumber), ' and ')}.
        </>
      )}
      {expiresAt !== null && (
        <>
          {' '}
          It {isOver ? 'expired' : 'expires'} on <Time at={expiresAt} />.
        </>
      )}
    </>
  );
}

function limitsOf({ requests, sum }: Budget, formatNumber: NumberFormat): Child[] {
  const limits: Child[] = [];
  if (requests !== undefined)
    limits.push(`${formatNumber(requests)} ${pluralOf(requests, 'request')}`);
  if (sum) limits.push([`${formatNumber(sum.max)} of `, <Code text={sum.key} />, ' together']);
  return limits;
}

const SINCE = { hour: 'This hour', day: 'Today (UTC)', month: 'This month' };

/** How much of the budget of a policy is used in the current window; nothing without a budget. */
export function BudgetUsage({ policy: { budget, usage } }: { policy: Policy }) {
  const { formatNumber } = usePage();
  if (!budget || !usage) return null;
  const { requests, sum } = budget;
  const most = requests === undefined ? '' : ` of ${formatNumber(requests)}`;
  const used: Child[] = [`${formatNumber(usage.requests)}${most} approved`];
  if (sum)
    used.push([`${formatNumber(usage.sum)} of ${formatNumber(sum.max)} `, <Code text={sum.key} />]);
  return (
    <p class="soft usage">
      {budget.per === 'total' ? ['Since ', <Time at={usage.window_start} />] : SINCE[budget.per]}:{' '}
      {joinElements(used, ', ')}.
    </p>
  );
}

/**
 * Whether a policy is on: not where it has expired, or where the budget of its current window is
 * used up.
 */
export function PolicyState({ policy }: { policy: Policy }) {
  const { now } = usePage();
  return <Badge state={stateOf(policy, now)} />;
}

function stateOf(policy: Policy, now: number): 'on' | 'off' | 'expired' | 'exhausted' {
  const { is_active: isActive, expires_at: expiresAt } = policy;
  if (!isActive) return onOrOff(false);
  if (expiresAt !== null && Date.parse(expiresAt) <= now) return 'expired';
  if (isUsedUp(policy)) return 'exhausted';
  return 'on';
}

function isUsedUp({ budget, usage }: Policy): boolean {
  if (!budget || !usage) return false;
  const { requests, sum } = budget;
  if (requests !== undefined && usage.requests >= requests) return true;
  return sum !== undefined && usage.sum >= sum.max;
}
