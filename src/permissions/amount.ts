import type { Json, JsonObject } from '../lib/json';
import type { NumberFormat } from '../lib/number-format';
import { shorten } from '../lib/text';
import { valueText } from './limit-texts';
import { pathLabel, shortPathLabel } from './path-label';
import type { Permission } from './permission';
import { scopeLeaves } from './scope-leaves';

const CURRENCY = /^[A-Za-z]{3}$/;

/** The names of a limit that can only be the amount. */
const PLAIN_LABELS = ['amount', 'max_amount'];

/** A text that people read as a number, such as `50,000`, `$5` or `10 EUR`. */
const LOOKS_LIKE_NUMBER = /^\W{0,3}\p{Nd}[\p{Nd}\s.,_']*\W{0,3}\p{L}{0,3}$/u;

const MAX_NUMBER = 40;
const MAX_LABEL = 40;

/**
 * How much a request asks for, in one line that begins with the number: `2,000 EUR`, `10 (rows)`,
 * or `5 (price) and 2 more`. It takes the limits as they were granted, or as they would be. Null if
 * they have no number.
 */
export function amountOf(
  {
    scope,
    granted_scope,
    review,
    status,
  }: Pick<Permission, 'scope' | 'granted_scope' | 'review' | 'status'>,
  formatNumber?: NumberFormat,
): string | null {
  const proposal = status === 'pending' ? review?.proposal?.scope : undefined;
  return amountText(granted_scope ?? proposal ?? scope, formatNumber);
}

/**
 * The amount of a scope, as {@link amountOf} says it. The agent chooses the names of its limits,
 * and so which number leads. So the line names the limit, except where it can only be the amount,
 * and says how many other numbers there are.
 */
export function amountText(scope: JsonObject, formatNumber?: NumberFormat): string | null {
  const leaves = scopeLeaves(scope);
  const [path, value] = leadingOf(leaves) ?? [];
  if (!path) return null;
  const currency = leaves.find(
    ([other, text]) =>
      isBeside(path, other) &&
      other.at(-1) === 'currency' &&
      typeof text === 'string' &&
      CURRENCY.test(text),
  )?.[1];
  const number = shorten(valueText(value, formatNumber), MAX_NUMBER);
  const label = pathLabel(path);
  const others = leaves.filter(([, other]) => hasNumber(other)).length - 1;
  const isPlain = currency !== undefined && others === 0 && PLAIN_LABELS.includes(label);
  return [
    number,
    currency !== undefined && ` ${currency}`,
    !isPlain &&
      ` (${shortPathLabel(label, leaves.findIndex(([other]) => other === path) + 1, MAX_LABEL)})`,
    others > 0 && ` and ${others} more`,
  ]
    .filter((part) => part !== false)
    .join('');
}

type Leaf = ReturnType<typeof scopeLeaves>[number];

/** The limit with whose number the line begins, as its path and value; undefined without one. */
export function leadingLimit(scope: JsonObject): Leaf | undefined {
  return leadingOf(scopeLeaves(scope));
}

function leadingOf(leaves: readonly Leaf[]): Leaf | undefined {
  const numbers = leaves.filter(([, value]) => typeof value === 'number');
  const named = numbers.find(([path]) => path.some((key) => /amount/i.test(key)));
  return named ?? numbers[0];
}

/** Whether two limits are in the same object of the scope. */
function isBeside(path: readonly string[], other: readonly string[]): boolean {
  return pathLabel(other.slice(0, -1)) === pathLabel(path.slice(0, -1));
}

function hasNumber(value: Json): boolean {
  if (typeof value === 'number') return true;
  if (typeof value === 'string') return LOOKS_LIKE_NUMBER.test(value);
  return Array.isArray(value) && value.some((each) => typeof each === 'object' || hasNumber(each));
}
