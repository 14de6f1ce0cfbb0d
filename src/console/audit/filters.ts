import { formatTime } from '../../lib/time';
import { isPeriod, startOfPeriod } from './period';

/** The filters of `GET /v1/audit` that the explorer has. */
const API_NAMES = [
  'agent_id',
  'event_type',
  'action',
  'resource',
  'decided_by',
  'scope_key',
  'scope_min',
  'scope_max',
  'permission_id',
  'start_date',
  'end_date',
  'order',
] as const;

/** Also those that only the explorer has: a period that people name, on the clocks of a zone. */
const NAMES = [...API_NAMES, 'period', 'zone'] as const;

type FilterName = (typeof NAMES)[number];

/** The filters of an address, as texts. They are not validated yet. */
export type Filters = { [name in FilterName]?: string };

/** The filters as `GET /v1/audit` has them. They are not validated yet. */
export type ApiFilters = { [name in (typeof API_NAMES)[number]]?: string };

/** The filters other than time and order. */
const NARROWING: readonly FilterName[] = [
  'resource',
  'decided_by',
  'scope_key',
  'agent_id',
  'event_type',
  'action',
  'permission_id',
];

/** The limit that a range of amounts is about, if none is named. */
export const AMOUNT = 'amount';

/** Whether the filters leave out entries within the selected time. */
export function isNarrowed(filters: Filters): boolean {
  return NARROWING.some((name) => name in filters);
}

/** Whether the filters leave out no entry. */
export function isUnfiltered({ order: _, ...others }: Filters): boolean {
  return Object.keys(others).length === 0;
}

/** The date and time of an HTML field, which has no offset. */
const LOCAL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$/;

/**
 * Reads the filters of an address or a form. Empty fields, which an untouched form sends, count as
 * absent; a time without an offset is UTC.
 */
export function readFilters(read: (name: string) => string | undefined): Filters {
  const given: Filters = {};
  for (const name of NAMES) {
    const text = read(name)?.trim();
    if (text) given[name] = name.endsWith('_date') ? completeTime(text) : text;
  }
  return simplify(given);
}

function completeTime(text: string): string {
  const match = LOCAL_TIME.exec(text);
  if (!match) return text;
  const [, seconds] = match;
  if (seconds === undefined) return `${text}:00Z`;
  return `${text}Z`;
}

/** Leaves out what has no effect, and names the limit of a range of amounts. */
function simplify({ order, period, zone, ...filters }: Filters): Filters {
  const hasRange = filters.scope_min !== undefined || filters.scope_max !== undefined;
  const isOfPeriod = period !== undefined && isPeriod(period) && filters.start_date === undefined;
  return {
    ...filters,
    ...(hasRange && { scope_key: filters.scope_key ?? AMOUNT }),
    ...(order !== undefined && order !== 'desc' && { order }),
    ...(isOfPeriod && { period, ...(zone !== undefined && { zone }) }),
  };
}

/** The filters as the API has them: with the start of the period. */
export function toApiFilters(
  { period, zone: _, ...filters }: Filters,
  { timeZone, now }: { timeZone: string; now: number },
): ApiFilters {
  if (period === undefined || !isPeriod(period)) return filters;
  return { ...filters, start_date: formatTime(startOfPeriod(period, timeZone, now)) };
}

/** The address of the explorer with some filters changed; null removes one. */
export function auditAddress(
  filters: Filters,
  changes: { [name in FilterName]?: string | null } = {},
): string {
  const changed = { ...filters, ...changes };
  const simple = readFilters((name) => changed[name as FilterName] ?? undefined);
  const query = new URLSearchParams();
  for (const name of NAMES) {
    const value = simple[name];
    if (value) query.set(name, value);
  }
  if (query.size === 0) return '/console/audit';
  return `/console/audit?${query}`;
}
