const NAMES = [
  'agent_id',
  'event_type',
  'action',
  'resource',
  'decided_by',
  'permission_id',
  'start_date',
  'end_date',
  'order',
] as const;

type FilterName = (typeof NAMES)[number];

/**
 * The filters of the explorer, as texts with the names of `GET /v1/audit`. They are not validated
 * yet.
 */
export type Filters = { [name in FilterName]?: string };

/** Filters that do not set the limits of the time, or the order. */
const NARROWING: readonly FilterName[] = [
  'agent_id',
  'event_type',
  'action',
  'resource',
  'decided_by',
  'permission_id',
];

/** Whether the filters leave out entries of the time that they select. */
export function isNarrowed(filters: Filters): boolean {
  return NARROWING.some((name) => name in filters);
}

/**
 * Whether the filters have no index: a page of the list then examines a limited number of entries,
 * and may have few of them or none.
 */
export function isExamined(filters: Filters): boolean {
  return 'resource' in filters || 'decided_by' in filters;
}

/** The date and time of an HTML field, which has no offset. */
const LOCAL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$/;

/**
 * Reads the filters of an address or a form. Empty fields, which an untouched form sends, count as
 * absent; a time without an offset is UTC.
 */
export function readFilters(read: (name: string) => string | undefined): Filters {
  const filters: Filters = {};
  for (const name of NAMES) {
    const text = read(name)?.trim();
    if (text) filters[name] = name.endsWith('_date') ? completeTime(text) : text;
  }
  if (filters.order === 'desc') delete filters.order;
  return filters;
}

function completeTime(text: string): string {
  const match = LOCAL_TIME.exec(text);
  if (!match) return text;
  const [, seconds] = match;
  if (seconds === undefined) return `${text}:00Z`;
  return `${text}Z`;
}

/** The address of the explorer with some filters changed; null removes one. */
export function auditAddress(
  filters: Filters,
  changes: { [name in FilterName]?: string | null } = {},
): string {
  const changed = { ...filters, ...changes };
  const query = new URLSearchParams();
  for (const name of NAMES) {
    const value = changed[name];
    if (value) query.set(name, value);
  }
  if (query.size === 0) return '/console/audit';
  return `/console/audit?${query}`;
}
