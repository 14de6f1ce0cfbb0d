import type { Row } from './entry.ts';
import { Fault } from './findings.ts';
import type { ProofHead } from './proof-file.ts';

const DAY = 24 * 60 * 60 * 1_000;
const DATE = /^\d{4}-\d\d-\d\d$/;

/** What an export was asked for, as a condition on its entries. */
export class RequestFilter {
  /** Whether entries between the first and the last were left out on request. */
  readonly isPartial: boolean;
  private readonly request: ProofHead['request'];
  private readonly from: number;
  private readonly to: number;

  /** @throws Fault where a date is none */
  constructor(request: ProofHead['request']) {
    this.request = request;
    this.isPartial = request.agent_id !== null || request.event_types !== null;
    this.from = readDate(request.start_date, 0);
    this.to = readDate(request.end_date, DAY);
  }

  /** Why an entry is not one of those that were asked for; null where it is. */
  findMismatch({ createdAt, entry }: Row): string | null {
    const { agent_id: agent, event_types: types } = this.request;
    const time = Date.parse(createdAt);
    if (!(time >= this.from && time < this.to)) return 'its time is outside the dates of the request';
    if (agent !== null && entry.agent_id !== agent) return 'it is of another agent than the request';
    if (types !== null && !types.includes(String(entry.event_type))) return 'its type is not one of the request';
    return null;
  }
}

/** A bare date is its midnight in UTC, and as an end the next one; fractions of a millisecond round up. */
function readDate(text: string, dayLength: number): number {
  if (DATE.test(text)) return requireDate(text, Date.parse(`${text}T00:00:00Z`) + dayLength);
  const leap = /:60(?=[.Zz+-])/.test(text);
  const plain = text
    .toUpperCase()
    .replace(' ', 'T')
    .replace(/:60(\.\d+)?/, ':59');
  const beyond = /\.\d{3}\d*[1-9]/.test(text) ? 1 : 0;
  return requireDate(text, Date.parse(plain) + (leap ? 1_000 : beyond));
}

function requireDate(text: string, time: number): number {
  if (Number.isNaN(time)) throw new Fault('proof', `The proof is not in its form: ${JSON.stringify(text)} is no date`);
  return time;
}
