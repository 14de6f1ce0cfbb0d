import { type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { type FieldError, invalidRequest } from '../errors';
import { queryDecimal, queryText } from '../http/fields';
import { lazy } from '../lib/lazy';
import type { AuditDetails } from './entry';

/** A filter on what only the details of an entry have. No index has it. */
export interface DetailFilter {
  /** The resource or, with `*` at its end, how the resource begins. */
  resource?: string;
  /** The id of who decided or revoked, or voted. */
  decidedBy?: string;
  /** A number at the top level of the scope; both bounds are included. */
  scope?: { key: string; min: number | undefined; max: number | undefined };
}

/** The filters on details of a query string. */
export const detailParameters = lazy(() => ({
  ...textFields(),
  scope_min: queryDecimal.optional().meta({ description: MIN_DESCRIPTION }),
  scope_max: queryDecimal.optional().meta({ description: MAX_DESCRIPTION }),
}));

/** The filters on details of a JSON body. */
export const detailFilterFields = lazy(() => ({
  ...textFields(),
  scope_min: z.number().optional().meta({ description: MIN_DESCRIPTION }),
  scope_max: z.number().optional().meta({ description: MAX_DESCRIPTION }),
}));

const MIN_DESCRIPTION = 'The least value of the number that `scope_key` names.';
const MAX_DESCRIPTION = 'The greatest value of the number that `scope_key` names.';

function textFields() {
  return {
    resource: queryText.optional().meta({
      description:
        'Only entries of exactly this resource. With `*` at the end, of the resources that begin with the rest.',
    }),
    decided_by: queryText.optional().meta({
      description:
        'Only entries whose `details` name this id as `decided_by`, or as one who voted.',
    }),
    scope_key: queryText.optional().meta({
      description:
        'Only entries whose scope has a number under this name at its top level. Needs `scope_min`, `scope_max` or both.',
    }),
  };
}

type DetailInput = {
  [name in 'resource' | 'decided_by' | 'scope_key']?: string | undefined;
} & { [name in 'scope_min' | 'scope_max']?: number | undefined };

/**
 * Reads the filter on details from the fields of a request; undefined if none of them is given.
 * @param place which part of the request has the fields
 * @throws Problem `invalid_request` for a name of a number without bounds or the reverse, and for a
 *   least value above the greatest
 */
export function readDetailFilter(
  place: 'query' | 'body',
  { resource, decided_by, scope_key: key, scope_min: min, scope_max: max }: DetailInput,
): DetailFilter | undefined {
  const errors: FieldError[] = [];
  const refuse = (name: string, message: string) =>
    errors.push({ path: `${place}.${name}`, message });
  if (key === undefined) {
    if (min !== undefined) refuse('scope_min', 'needs scope_key');
    if (max !== undefined) refuse('scope_max', 'needs scope_key');
  } else if (min === undefined && max === undefined) {
    refuse('scope_key', 'needs scope_min or scope_max');
  } else if (min !== undefined && max !== undefined && min > max) {
    refuse('scope_min', 'must not be above scope_max');
  }
  if (errors.length > 0) throw invalidRequest(errors);
  return detailFilterOf({ resource, decided_by, scope_key: key, scope_min: min, scope_max: max });
}

/** The same for fields that are not checked yet. */
export function detailFilterOf({
  resource,
  decided_by,
  scope_key: key,
  scope_min: min,
  scope_max: max,
}: DetailInput): DetailFilter | undefined {
  const filter: DetailFilter = {};
  if (resource !== undefined) filter.resource = resource;
  if (decided_by !== undefined) filter.decidedBy = decided_by;
  if (key !== undefined) filter.scope = { key, min, max };
  if (Object.keys(filter).length === 0) return undefined;
  return filter;
}

/**
 * Whether the details of an entry match, as SQL. It is true for details that are nested too deep
 * for SQLite's JSON functions: {@link matchesDetails} has to decide about them.
 * @param entry the alias of `audit_entries` in the statement
 */
export function matchesDetailsSql(
  { resource, decidedBy, scope }: DetailFilter,
  entry: string,
): SQL<boolean> {
  const details = sql.raw(`${entry}.details`);
  const conditions: SQL[] = [];
  if (resource !== undefined) conditions.push(hasResource(details, resource));
  if (scope !== undefined) conditions.push(hasNumber(details, scope));
  if (decidedBy !== undefined) conditions.push(isDecidedBy(details, decidedBy));
  // SQLite evaluates only the argument that it returns. The JSON functions would fail otherwise.
  return sql`iif(json_valid(${details}), ${sql.join(conditions, sql` and `)}, true)`;
}

function hasResource(details: SQL, resource: string): SQL {
  if (!resource.endsWith('*')) return sql`${details} ->> 'resource' = ${resource}`;
  const start = resource.slice(0, -1);
  return sql`substr(${details} ->> 'resource', 1, length(${start})) = ${start}`;
}

function hasNumber(details: SQL, { key, min, max }: NonNullable<DetailFilter['scope']>): SQL {
  // A path has the name as JSON has it, so that any character may be in it.
  const path = `$.scope.${JSON.stringify(key)}`;
  // SQLite reads a large integer exactly, but the number that it stands for is a double.
  const number = sql`cast(json_extract(${details}, ${path}) as real)`;
  const conditions = [sql`json_type(${details}, ${path}) in ('integer', 'real')`];
  if (min !== undefined) conditions.push(sql`${number} >= ${min}`);
  if (max !== undefined) conditions.push(sql`${number} <= ${max}`);
  return sql.join(conditions, sql` and `);
}

function isDecidedBy(details: SQL, id: string): SQL {
  // Each vote that `json_each` returns costs a row read, so the text is searched before.
  return sql`(${details} ->> 'decided_by' = ${id} or
    instr(${details} -> 'votes', ${`"by":${JSON.stringify(id)}`}) > 0 and exists (
      select 1 from json_each(${details}, '$.votes') as vote where vote.value ->> 'by' = ${id}
    ))`;
}

/** Whether the details of an entry match. */
export function matchesDetails(
  details: AuditDetails,
  { resource, decidedBy, scope }: DetailFilter,
): boolean {
  if (resource !== undefined && !matchesResource(details.resource, resource)) return false;
  if (decidedBy !== undefined && !namesDecider(details, decidedBy)) return false;
  if (scope === undefined) return true;
  const number = details.scope?.[scope.key];
  if (typeof number !== 'number') return false;
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = scope;
  return number >= min && number <= max;
}

function matchesResource(resource: string, wanted: string): boolean {
  if (wanted.endsWith('*')) return resource.startsWith(wanted.slice(0, -1));
  return resource === wanted;
}

function namesDecider({ decided_by, votes = [] }: AuditDetails, id: string): boolean {
  return decided_by === id || votes.some(({ by }) => by === id);
}
