import { isJsonObject, type Json, type JsonObject } from './json.ts';
import { readSeries, type SeriesTerms } from './series.ts';
import { parseTime } from './time.ts';

/** The signature of a vote, as `details.votes` has it. Bytes are in base64url. */
export interface VoteSignature {
  credential_id: string;
  signed_at: string;
  authenticator_data: string;
  client_data_json: string;
  signature: string;
}

/** A vote in the details of the entry that ends a request. */
export interface Vote {
  by: string;
  decision: 'approve' | 'deny';
  /** Null if it is the scope of the vote before or, for the first vote, of the request. */
  scope: JsonObject | null;
  tokenTtl: number;
  maxUses: number;
  /** Null if the vote creates no series. */
  series: SeriesTerms | null;
  reason: string | null;
  via: string;
  at: string;
  signature: VoteSignature | null;
}

const SIGNATURE_FIELDS = [
  'credential_id',
  'signed_at',
  'authenticator_data',
  'client_data_json',
  'signature',
];

/**
 * The service accepts signatures within 5 minutes of its clock. It stores the vote a moment later.
 */
const MAX_TIME_FROM_SIGNATURE = 6 * 60 * 1_000;

/**
 * Reads a vote.
 * @throws SyntaxError if it is malformed, or contradicts itself. The message is the rest of a
 *   sentence about the vote.
 */
export function readVote(value: Json): Vote {
  if (!isJsonObject(value)) throw new SyntaxError('it is not an object');
  const {
    by,
    decision,
    scope,
    token_ttl: tokenTtl,
    max_uses: maxUses,
    series,
    reason,
    via,
    signed,
    at,
    signature,
  } = value;
  const invalid = (name: string) => new SyntaxError(`its ${name} is invalid`);
  if (typeof by !== 'string') throw invalid('by');
  if (decision !== 'approve' && decision !== 'deny') throw invalid('decision');
  if (scope !== undefined && !isJsonObject(scope)) throw invalid('scope');
  if (!isLimit(tokenTtl)) throw invalid('token_ttl');
  if (!isLimit(maxUses)) throw invalid('max_uses');
  if (typeof reason !== 'string' && reason !== null) throw invalid('reason');
  if (typeof via !== 'string') throw invalid('via');
  if (typeof signed !== 'boolean') throw invalid('signed');
  if (typeof at !== 'string' || Number.isNaN(parseTime(at))) throw invalid('at');
  const vote: Omit<Vote, 'signature'> = {
    by,
    decision,
    scope: scope ?? null,
    tokenTtl,
    maxUses,
    series: series === undefined ? null : readSeries(series),
    reason,
    via,
    at,
  };
  if (signature === undefined) {
    if (signed) throw new SyntaxError('it is marked as signed, but has no signature');
    return { ...vote, signature: null };
  }
  if (!signed) throw new SyntaxError('it has a signature, but is not marked as signed');
  return { ...vote, signature: readSignature(signature, at) };
}

function isLimit(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
}

function readSignature(value: Json, at: string): VoteSignature {
  const fields = isJsonObject(value) ? value : {};
  const isComplete = SIGNATURE_FIELDS.every((name) => typeof fields[name] === 'string');
  if (!isComplete || Object.keys(fields).length !== SIGNATURE_FIELDS.length) {
    throw new SyntaxError('its signature does not have the fields of a signature');
  }
  const signature = fields as unknown as VoteSignature;
  // Also false if signed_at is not a time.
  if (!(Math.abs(parseTime(signature.signed_at) - parseTime(at)) <= MAX_TIME_FROM_SIGNATURE)) {
    throw new SyntaxError('its time is not within minutes of the time at which it was signed');
  }
  return signature;
}
