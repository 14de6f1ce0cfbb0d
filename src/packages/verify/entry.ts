import { isJsonObject, type Json, type JsonObject } from './core/json.ts';
import { leafInput } from './core/merkle.ts';
import { sha256 } from './frontier.ts';

/** An entry that was read from a row of an export. */
export interface Row {
  sequence: number;
  id: string;
  createdAt: string;
  /** The whole entry in the form of the API, which is hashed together with its salt. */
  entry: JsonObject;
}

/** A row of an export is not a valid entry, or cannot be read. */
export class InvalidRow extends Error {
  /** The id in the row, if there is one. */
  readonly id: string | undefined;

  constructor(message: string, id?: string) {
    super(message);
    this.id = id;
  }
}

/** A row has no details, because the export was requested without them. */
export class NoDetails extends InvalidRow {}

const IDS = ['id', 'user_id', 'agent_id', 'permission_request_id'];
const TEXTS = [...IDS, 'event_type', 'ip_address', 'user_agent', 'created_at'];
const COLUMNS = [...TEXTS, 'sequence', 'details', 'action', 'resource'];
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Reads a row of an export with details. Besides the entry, a row repeats `action` and `resource`
 * from the details. The hash does not cover these copies, so they must be equal.
 * @throws InvalidRow
 */
export function readRow(value: Json): Row {
  if (!isJsonObject(value)) throw new InvalidRow('it is not an object');
  const id = typeof value.id === 'string' ? value.id : undefined;
  const refuse = (reason: string) => new InvalidRow(reason, id);

  const { sequence, details, action, resource } = value;
  if (details === undefined)
    throw new NoDetails('it has no details; only an export with details can be verified', id);
  const missing = COLUMNS.find((name) => value[name] === undefined);
  if (missing) throw refuse(`it has no ${missing}`);
  const foreign = Object.keys(value).find((name) => !COLUMNS.includes(name));
  if (foreign) throw refuse(`it has a ${JSON.stringify(foreign)}, which entries do not have`);

  const texts: Record<string, string> = {};
  for (const name of TEXTS) {
    const text = value[name];
    if (typeof text !== 'string') throw refuse(`its ${name} is not a string`);
    texts[name] = text;
  }
  const { id: named = '', created_at: createdAt = '' } = texts;
  if (typeof sequence !== 'number' || !Number.isSafeInteger(sequence) || sequence < 1) {
    throw refuse('its sequence is not a positive whole number');
  }
  if (!TIME.test(createdAt)) throw refuse('its created_at is not a time');
  if (!isJsonObject(details)) throw refuse('its details are not an object');
  if (action !== details.action) throw refuse('its action differs from the one in its details');
  if (resource !== details.resource)
    throw refuse('its resource differs from the one in its details');
  return { sequence, id: named, createdAt, entry: { ...texts, sequence, details } };
}

/**
 * The leaf hash of an entry (see {@link leafInput}).
 * @param salt 32 hexadecimal characters
 * @throws TypeError if the entry has no canonical JSON
 */
export function hashEntry(entry: JsonObject, salt: string): Buffer {
  return sha256(leafInput(entry, salt));
}
