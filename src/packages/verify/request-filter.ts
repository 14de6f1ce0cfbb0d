import { Fault } from './core/findings.ts';
import { isJsonObject, type JsonObject } from './core/json.ts';
import { parseTime } from './core/time.ts';
import type { Row } from './entry.ts';
import type { ExportRequest } from './proof-file.ts';

const DAY = 24 * 60 * 60 * 1_000;
const DATE = /^\d{4}-\d\d-\d\d$/;

/** The dates and filters of an export's request, as a condition on its entries. */
export class RequestFilter {
  /** Whether the request has a filter that can exclude entries between the first and the last. */
  readonly isPartial: boolean;
  private readonly request: ExportRequest;
  private readonly from: number;
  private readonly to: number;

  /** @throws Fault if a date is invalid */
  constructor(request: ExportRequest) {
    this.request = request;
    this.isPartial = listFilters(request).length > 0;
    this.from = readDate(request.start_date, 0);
    this.to = readDate(request.end_date, DAY);
  }

  /** A message that says why an entry does not match the request; null if it does. */
  findMismatch({ createdAt, entry }: Row): string | null {
    const { agent_id: agent, event_types: types } = this.request;
    const time = Date.parse(createdAt);
    if (!(time >= this.from && time < this.to))
      return 'its time is outside the dates of the request';
    if (agent !== null && entry.agent_id !== agent)
      return 'its agent is not the one of the request';
    if (types !== null && !types.includes(String(entry.event_type)))
      return 'its type is not among those of the request';
    const { details } = entry;
    return this.findOtherDetail(isJsonObject(details) ? details : {});
  }

  private findOtherDetail(details: JsonObject): string | null {
    const { action, resource, decided_by: decider, scope_key: key } = this.request;
    if (action !== null && details.action !== action)
      return 'its action is not the one of the request';
    if (resource !== null && !isResource(String(details.resource), resource))
      return 'its resource is not one of the request';
    if (decider !== null && !namesDecider(details, decider))
      return 'the one who decided in the request neither decided nor voted';
    if (key !== null && !this.isInRange(details.scope, key))
      return 'its scope is outside the range of the request';
    return null;
  }

  private isInRange(scope: JsonObject[string] | undefined, key: string): boolean {
    const { scope_min: min, scope_max: max } = this.request;
    const number = isJsonObject(scope) ? scope[key] : undefined;
    if (typeof number !== 'number') return false;
    return (min === null || number >= min) && (max === null || number <= max);
  }
}

/** The filters of a request besides its dates, in words. */
export function listFilters(request: ExportRequest): string[] {
  const filters: string[] = [];
  if (request.agent_id !== null) filters.push('one agent');
  if (request.event_types !== null) filters.push(request.event_types.join(', '));
  if (request.action !== null) filters.push('one action');
  if (request.resource !== null) filters.push('some resources');
  if (request.decided_by !== null) filters.push('one who decided');
  if (request.scope_key !== null) filters.push('a range of a number in the scope');
  return filters;
}

function isResource(resource: string, wanted: string): boolean {
  if (wanted.endsWith('*')) return resource.startsWith(wanted.slice(0, -1));
  return resource === wanted;
}

function namesDecider({ decided_by: decider, votes }: JsonObject, id: string): boolean {
  if (decider === id) return true;
  return Array.isArray(votes) && votes.some((vote) => isJsonObject(vote) && vote.by === id);
}

/**
 * Reads a date or date-time.
 * @param dayLength added to a bare date: a day if it is the end of a range, else 0
 */
function readDate(text: string, dayLength: number): number {
  const time = DATE.test(text) ? Date.parse(`${text}T00:00:00Z`) + dayLength : parseTime(text);
  return requireDate(text, time);
}

function requireDate(text: string, time: number): number {
  if (Number.isNaN(time))
    throw new Fault('proof', `The proof is malformed: ${JSON.stringify(text)} is not a date`);
  return time;
}
