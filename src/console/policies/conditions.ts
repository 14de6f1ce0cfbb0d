import type { FieldError } from '../../errors';
import { BODY_LIMITS } from '../../http/input';
import { findJsonLosses } from '../../lib/exact-json';
import { equalJson, isJsonObject, type Json, type JsonObject } from '../../lib/json';
import { findExceededLimit } from '../../lib/json-limits';
import type { PolicyCondition } from '../../policies/fields';
import { readNumber } from '../frame/form';

/** The members of a condition in the API, in words. */
export const OPERATOR_WORDS: Record<keyof PolicyCondition, string> = {
  max: 'is at most',
  min: 'is at least',
  equals: 'is exactly',
  in: 'is one of',
};

/** The comparisons of a row of the form with a limit. */
export const OPERATORS = [
  ...Object.entries(OPERATOR_WORDS),
  ['any', 'is anything'] as const,
] as const;

/** A row of the form. Several rows about one limit make one condition. */
export interface ConditionRow {
  key: string;
  operator: string;
  value: string;
}

/** The conditions as rows of the form, and those that no row can express. */
export function conditionRows(conditions: JsonObject): {
  rows: ConditionRow[];
  others: JsonObject[];
} {
  const rows: ConditionRow[] = [];
  const others: JsonObject[] = [];
  for (const [key, condition] of Object.entries(conditions)) {
    const own = rowsOf(key, condition);
    if (own) rows.push(...own);
    else others.push({ [key]: condition });
  }
  return { rows, others };
}

/** The rows of one condition; null if they would not be read as the same condition again. */
function rowsOf(key: string, condition: Json): ConditionRow[] | null {
  if (!isJsonObject(condition) || /[\r\n]/.test(key) || !Object.values(condition).every(isPlain))
    return null;
  const entries = Object.entries(condition);
  const rows = entries.map(([operator, value]) => ({
    key,
    operator,
    value: writeValue(operator, value),
  }));
  if (entries.length === 0) rows.push({ key, operator: 'any', value: '' });
  if (!equalJson(readConditions(rows, []).conditions, { [key]: condition })) return null;
  return rows;
}

/** Whether a value is a scalar, or a list of scalars. */
function isPlain(value: unknown): boolean {
  return [value].flat().every((member) => typeof member !== 'object' || member === null);
}

/**
 * Returns the conditions that the rows without faults and the other conditions make together, and
 * the faults of rows. Skips empty rows. Does not check values: the schema of the API does.
 */
export function readConditions(
  rows: ConditionRow[],
  others: JsonObject[],
): { conditions: JsonObject; faults: FieldError[] } {
  const conditions = new Map<string, JsonObject>();
  const kept = new Map(others.flatMap((other) => Object.entries(other)));
  const faults: FieldError[] = [];
  rows.forEach((row, index) => {
    const key = row.key.trim();
    const text = row.value.trim();
    if (key === '' && text === '') return;
    const condition = conditions.get(key) ?? {};
    const fault = faultOf(key, row.operator, text, kept.has(key), condition);
    if (fault !== null) {
      faults.push({ path: `body.condition-${index}`, message: fault });
      return;
    }
    if (row.operator !== 'any') condition[row.operator] = readValue(row.operator, text);
    conditions.set(key, condition);
  });
  return { conditions: Object.fromEntries([...kept, ...conditions]), faults };
}

function faultOf(
  key: string,
  operator: string,
  text: string,
  isKept: boolean,
  condition: JsonObject,
): string | null {
  if (key === '') return 'needs the name of a limit';
  if (!OPERATORS.some(([known]) => known === operator)) return 'needs a comparison';
  if (operator !== 'any' && text === '') return 'needs a value';
  const loss = findLoss(operator, text);
  if (loss !== null) return loss;
  if (isKept) return 'is about a limit that has a condition below';
  if (Object.hasOwn(condition, operator)) return 'says the same about this limit as a row above';
  return null;
}

function readValue(operator: string, text: string): Json {
  if (operator === 'max' || operator === 'min') return readNumber(text);
  if (operator !== 'in') return readScalar(text);
  if (text.startsWith('[')) {
    const list = readScalar(text);
    if (Array.isArray(list)) return list;
  }
  return splitList(text).map(readScalar);
}

/** Says what reading a typed value would change; null if nothing. */
function findLoss(operator: string, text: string): string | null {
  const members = operator === 'in' && !text.startsWith('[') ? splitList(text) : [text];
  for (const member of members) {
    if (parseJson(member) === undefined) continue;
    for (const { message } of findJsonLosses(member)) return message;
  }
  return null;
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
}

/** A value as typed: JSON if it is some, such as 5, true or "5"; otherwise the text itself. */
function readScalar(text: string): Json {
  return parseJson(text) ?? (text === 'null' ? null : text);
}

/**
 * The value of a JSON text; undefined for another text, or one with more than a condition may have.
 */
export function parseJson(text: string): Json | undefined {
  try {
    if (findExceededLimit(text, BODY_LIMITS)) return undefined;
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A value as one types it, so that it is read as the same value again. */
function writeValue(operator: string, value: Json): string {
  if (operator !== 'in' || !Array.isArray(value)) return writeScalar(value);
  const list = value.map(writeScalar).join(', ');
  if (equalJson(readValue('in', list), value)) return list;
  return JSON.stringify(value);
}

function writeScalar(value: Json): string {
  const isSafe =
    typeof value === 'string' && value === value.trim() && value !== '' && !/[\r\n]/.test(value);
  if (isSafe && readScalar(value) === value) return value;
  return JSON.stringify(value);
}
