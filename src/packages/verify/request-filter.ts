import { Fault } from './core/findings.ts';
import { parseTime } from './core/time.ts';
import type { Row } from './entry.ts';
import type { ProofHeader } from './proof-file.ts';

const DAY = 24 * 60 * 60 * 1_000;
const DATE = /^\d{4}-\d\d-\d\d$/;

/** The dates and filters of an export's request, as a condition on its entries. */
export class RequestFilter {
  /** Whether the request has a filter that can exclude entries between the first and the last. */
  readonly isPartial: boolean;
  private readonly request: ProofHeader['request'];
  private readonly from: number;
  private readonly to: number;

  /** @throws Fault if a date is invalid */
  constructor(request: ProofHeader['request']) {
    this.request = request;
    this.isPartial = request.agent_id !== null || request.event_types !== null;
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
    return null;
  }
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
