import { canonicalJson, isJsonObject, type Json, type JsonObject } from './json.ts';
import { parseTime } from './time.ts';

/** A run of like acts, as a vote gives it. */
export interface SeriesTerms {
  requests: number;
  expires_in: number;
  varies: string[];
}

/**
 * Reads a series.
 * @throws SyntaxError if it is malformed
 */
export function readSeries(value: Json): SeriesTerms {
  const { requests, expires_in, varies } = isJsonObject(value) ? value : {};
  const isComplete =
    isCount(requests) &&
    isCount(expires_in) &&
    Array.isArray(varies) &&
    varies.every((key) => typeof key === 'string');
  if (!isComplete) throw new SyntaxError('its series is invalid');
  return { requests, expires_in, varies: varies as string[] };
}

function isCount(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
}

/** Whether a series allows no more than another one; null gives none. */
export function isSeriesWithin(given: SeriesTerms | null, bound: SeriesTerms | null): boolean {
  if (given === null) return true;
  if (bound === null) return false;
  return (
    given.requests <= bound.requests &&
    given.expires_in <= bound.expires_in &&
    given.varies.every((key) => bound.varies.includes(key))
  );
}

/** An approval that its series does not cover. The message is the rest of a sentence about it. */
export class WrongSeries extends Error {}

/** A series that an approval in the file gave. */
interface GivenSeries {
  terms: SeriesTerms;
  entry: JsonObject;
  details: JsonObject;
  givers: string[];
  /** How many approvals of it were seen, the first permission included. */
  used: number;
}

/**
 * The service compares a request with its own clock. The time of an entry is never earlier than
 * that of the entry before, so it may be later than that clock by the difference of two workers'
 * clocks.
 */
const CLOCK_TOLERANCE = 60_000;

/** Checks approvals by series against the approvals that gave the series. */
export class SeriesChecker {
  /** How many approvals are within a series in the file, and how many belong to none in it. */
  readonly counts = { within: 0, unknown: 0 };
  private readonly given = new Map<Json | undefined, GivenSeries>();

  /**
   * Takes the next `approve` entry, in the order of the log.
   * @throws WrongSeries
   */
  take(entry: JsonObject, details: JsonObject): void {
    if (details.decided_via === 'series') this.check(entry, details);
    if (details.granted_series === undefined) return;
    try {
      this.given.set(entry.permission_request_id, {
        terms: readSeries(details.granted_series),
        entry,
        details,
        givers: giversOf(details),
        used: 1,
      });
    } catch (error) {
      throw error instanceof SyntaxError
        ? new WrongSeries('the series that it gave is invalid')
        : error;
    }
  }

  private check(entry: JsonObject, details: JsonObject): void {
    const { permission_id: first, given_by: people } = isJsonObject(details.series)
      ? details.series
      : {};
    if (typeof first !== 'string' || first !== details.decided_by || !Array.isArray(people))
      throw new WrongSeries('it does not say which series approved it');
    const series = this.given.get(first);
    if (!series) {
      this.counts.unknown += 1;
      return;
    }
    series.used += 1;
    const wrong = findMismatch(series, entry, details, people);
    if (wrong) throw new WrongSeries(`${wrong} the series that ${first} gave`);
    this.counts.within += 1;
  }
}

/** Those whose votes gave the series, or the member who decided without a review. */
function giversOf({ votes, decided_by }: JsonObject): string[] {
  if (!Array.isArray(votes)) return typeof decided_by === 'string' ? [decided_by] : [];
  return votes.flatMap((vote) =>
    isJsonObject(vote) && typeof vote.by === 'string' ? vote.by : [],
  );
}

/** How an approval differs from its series, as the begin of a sentence; null if it does not. */
function findMismatch(
  series: GivenSeries,
  entry: JsonObject,
  details: JsonObject,
  people: Json[],
): string | null {
  const { terms, details: first } = series;
  if (entry.agent_id !== series.entry.agent_id) return 'it is by another agent than';
  if (details.action !== first.action) return 'it is for another action than';
  if (details.resource !== first.resource) return 'it is for another resource than';
  if (!isScopeWithin(details.scope, first.scope, terms.varies)) return 'its scope is not one of';
  if (series.used > terms.requests) return 'it is more than the number of';
  const given = parseTime(String(series.entry.created_at));
  const latest = given + terms.expires_in * 1_000 + CLOCK_TOLERANCE;
  // Also false if a time is none.
  if (!(parseTime(String(entry.created_at)) <= latest)) return 'it is later than';
  const isGiven = people.length > 0 && people.every((by) => series.givers.includes(String(by)));
  return isGiven ? null : 'it names other people than those who gave';
}

function isScopeWithin(
  scope: Json | undefined,
  granted: Json | undefined,
  varies: readonly string[],
): boolean {
  if (!isJsonObject(scope) || !isJsonObject(granted)) return false;
  const keys = Object.keys(granted);
  if (Object.keys(scope).length !== keys.length) return false;
  return keys.every((key) => {
    if (!Object.hasOwn(scope, key)) return false;
    const [value, limit] = [scope[key] as Json, granted[key] as Json];
    return varies.includes(key) ? isWithin(value, limit) : isSame(value, limit);
  });
}

/** Whether a value allows no more than a limit: a lower number, some members of a list. */
function isWithin(value: Json, limit: Json): boolean {
  if (typeof limit === 'number') return typeof value === 'number' && value >= 0 && value <= limit;
  if (Array.isArray(limit)) return Array.isArray(value) && isSubset(value, limit);
  if (!isJsonObject(limit)) return isSame(value, limit);
  const keys = Object.keys(limit);
  if (!isJsonObject(value) || Object.keys(value).length !== keys.length) return false;
  return keys.every(
    (key) => Object.hasOwn(value, key) && isWithin(value[key] as Json, limit[key] as Json),
  );
}

function isSubset(members: Json[], of: Json[]): boolean {
  if (members.length === 0) return of.length === 0;
  const left = of.map(canonicalJson);
  return members.every((member) => {
    const place = left.indexOf(canonicalJson(member));
    if (place < 0) return false;
    left.splice(place, 1);
    return true;
  });
}

function isSame(one: Json, other: Json): boolean {
  return canonicalJson(one) === canonicalJson(other);
}
