import * as z from 'zod';
import { Problem } from '../errors';
import { concatBytes, equalBytes } from '../lib/bytes';
import type { Keyring } from '../lib/secrets';
import { queryNumber } from './fields';

/** A page of a list. */
export interface Page<T> {
  data: T[];
  has_more: boolean;
  next_cursor: string | null;
}

/** The query parameters of every list. */
export function pageParameters(defaultLimit: number, maxLimit: number) {
  return {
    limit: queryNumber(1, maxLimit).default(defaultLimit).meta({ description: 'How many a page holds, at most.' }),
    cursor: z.string().optional().meta({
      description:
        'The `next_cursor` of the page before. It goes with the account and the filters that it was made with.',
    }),
  };
}

/**
 * What a cursor is good for: whose list, which one, with which filters. A cursor is turned away anywhere else.
 */
export interface CursorBinding {
  list: string;
  /** Id of the account or of the agent that pages. */
  owner: string;
  filters: Record<string, unknown>;
}

const MAC_LENGTH = 16;

/** Writes a position in a list as an opaque cursor: the position, and a MAC of it and of what it is bound to. */
export async function writeCursor(keyring: Keyring, binding: CursorBinding, position: string): Promise<string> {
  const [mac] = await keyring.mac('cursor', bind(binding, position));
  return encode(concatBytes(mac.subarray(0, MAC_LENGTH), new TextEncoder().encode(position)));
}

/**
 * Reads the position from a cursor.
 * @throws Problem `invalid_cursor` for one that was changed, or made for another account or other filters
 */
export async function readCursor(keyring: Keyring, binding: CursorBinding, cursor: string): Promise<string> {
  const bytes = decode(cursor);
  const position = new TextDecoder().decode(bytes?.subarray(MAC_LENGTH));
  const macs = await keyring.mac('cursor', bind(binding, position));
  if (!bytes || !macs.some((mac) => equalBytes(mac.subarray(0, MAC_LENGTH), bytes.subarray(0, MAC_LENGTH)))) {
    throw new Problem(
      'invalid_cursor',
      'Use `next_cursor` as it was given, with the filters that it was made with, or start without a cursor.',
      { errors: [{ path: 'query.cursor', message: 'is not a cursor of this list with these filters' }] },
    );
  }
  return position;
}

/**
 * Makes a page of the rows that a query for one row more than `limit` gave.
 * @param position where a row stands in the list; the last row of the page becomes the cursor
 * @param present makes a row's answer; null leaves the row out of the page (it still moves the cursor)
 * @param isCut whether the query looked no further than to its last row, though there may be more
 */
export async function makePage<Row, T>(
  keyring: Keyring,
  binding: CursorBinding,
  rows: Row[],
  limit: number,
  position: (row: Row) => string,
  present: (row: Row) => T | null,
  isCut = false,
): Promise<Page<T>> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const more = (rows.length > limit || isCut) && last !== undefined;
  return {
    data: shown.map(present).filter((item) => item !== null),
    has_more: more,
    next_cursor: more ? await writeCursor(keyring, binding, position(last)) : null,
  };
}

/** The same for a list whose rows stand in the order of their ids. */
export function makePageById<Row extends { id: string }, T>(
  keyring: Keyring,
  binding: CursorBinding,
  rows: Row[],
  limit: number,
  present: (row: Row) => T | null,
  isCut = false,
): Promise<Page<T>> {
  return makePage(keyring, binding, rows, limit, (row) => row.id, present, isCut);
}

function bind({ list, owner, filters }: CursorBinding, position: string): string {
  const sorted = Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([list, owner, sorted.filter(([, value]) => value !== undefined), position]);
}

function encode(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: 'base64url', omitPadding: true });
}

/** Null for a text that {@link encode} would not have written. */
function decode(text: string): Uint8Array | null {
  try {
    const bytes = Uint8Array.fromBase64(text, { alphabet: 'base64url' });
    return encode(bytes) === text ? bytes : null;
  } catch {
    return null;
  }
}
