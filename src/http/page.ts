import * as z from 'zod';
import type { Config } from '../env';
import { Problem } from '../errors';
import { concatBytes, equalBytes } from '../lib/bytes';
import type { Keyring } from '../lib/secrets';
import { queryNumber } from './fields';

/** One page of a list, as the API shows it. */
export interface Page<T> {
  data: T[];
  has_more: boolean;
  next_cursor: string | null;
}

/** The query parameters of every list. */
export function pageParameters(defaultLimit: number, maxLimit: number) {
  return {
    limit: queryNumber(1, maxLimit)
      .default(defaultLimit)
      .meta({ description: 'The greatest number of items on the page.' }),
    cursor: z
      .string()
      .optional()
      .meta({
        description:
          'The `next_cursor` of the previous page. It works only for the same account and the same ' +
          'filters.',
      }),
  };
}

/** The request for which a cursor is valid: for one list, by one caller, with certain filters. */
interface CursorBinding {
  /**
   * The name of the list, or the id of the resource to which it belongs if that has one list only.
   */
  list: string;
  /** The id of the account or agent that requests the list, or `operator`. */
  caller: string;
  filters: Record<string, unknown>;
}

/** The page parameters of a request and, in all other members, its filters. */
export type ListQuery = { limit: number; cursor?: string | undefined } & Record<string, unknown>;

/** The part of a list that a page selects. */
export interface PageRange<Position extends string> {
  /** The position of the last row of the previous page; undefined for the first page. */
  after: Position | undefined;
  /**
   * How many rows to select: one more than the page holds, which tells whether another page
   * follows.
   */
  rowLimit: number;
}

/**
 * Checks the cursor of a list request, and returns what is needed to select the rows and make the
 * page.
 * @throws Problem `invalid_cursor` for a cursor that was changed, or made for another caller, list
 *   or filters
 */
export async function openPage<Position extends string>(
  { config: { keyring } }: { config: Pick<Config, 'keyring'> },
  list: Omit<CursorBinding, 'filters'>,
  { limit, cursor, ...filters }: ListQuery,
) {
  const binding = { ...list, filters };
  const range: PageRange<Position> = {
    after:
      cursor === undefined ? undefined : ((await readCursor(keyring, binding, cursor)) as Position),
    rowLimit: limit + 1,
  };
  return {
    ...range,
    /**
     * Makes the page from the selected rows.
     * @param present makes the item of a row; null leaves the row out of the page
     * @param position the position of a row in the list; by default its id
     * @param isCut whether the query stopped at its last row without knowing whether more rows
     *   follow
     */
    async make<Row extends { id: string }, T>(
      rows: Row[],
      present: (row: Row) => T | null,
      { position = ({ id }: Row): string => id, isCut = false } = {},
    ): Promise<Page<T>> {
      const shown = rows.slice(0, limit);
      const last = shown.at(-1);
      const hasMore = (rows.length > limit || isCut) && last !== undefined;
      return {
        data: shown.map(present).filter((item) => item !== null),
        has_more: hasMore,
        next_cursor: hasMore ? await writeCursor(keyring, binding, position(last)) : null,
      };
    },
  };
}

const MAC_LENGTH = 16;

/**
 * The position in a cursor that {@link openPage} has not checked yet, so anybody may have made it;
 * null for a text that no cursor is.
 */
export function uncheckedPosition(cursor: string): string | null {
  const bytes = decode(cursor);
  return bytes && new TextDecoder().decode(bytes.subarray(MAC_LENGTH));
}

/**
 * Writes a position in a list as a cursor: a MAC of the position and its binding, then the
 * position. Clients can read it, so a position never contains a secret, such as the hash of a
 * credential.
 */
async function writeCursor(
  keyring: Keyring,
  binding: CursorBinding,
  position: string,
): Promise<string> {
  const [mac] = await keyring.mac('cursor', authenticatedText(binding, position));
  return encode(concatBytes(mac.subarray(0, MAC_LENGTH), new TextEncoder().encode(position)));
}

/** Reads the position from a cursor. */
async function readCursor(
  keyring: Keyring,
  binding: CursorBinding,
  cursor: string,
): Promise<string> {
  const bytes = decode(cursor);
  const position = new TextDecoder().decode(bytes?.subarray(MAC_LENGTH));
  const macs = await keyring.mac('cursor', authenticatedText(binding, position));
  const given = bytes?.subarray(0, MAC_LENGTH);
  if (!given || !macs.some((mac) => equalBytes(mac.subarray(0, MAC_LENGTH), given))) {
    throw new Problem(
      'invalid_cursor',
      'Send `next_cursor` unchanged, with the same filters as before, or start again without a ' +
        'cursor.',
      {
        errors: [
          { path: 'query.cursor', message: 'is not a cursor of this list with these filters' },
        ],
      },
    );
  }
  return position;
}

function authenticatedText({ list, caller, filters }: CursorBinding, position: string): string {
  const sorted = Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([
    list,
    caller,
    sorted.filter(([, value]) => value !== undefined),
    position,
  ]);
}

function encode(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: 'base64url', omitPadding: true });
}

/** Returns null for a text that {@link encode} would not write. */
function decode(text: string): Uint8Array | null {
  try {
    const bytes = Uint8Array.fromBase64(text, { alphabet: 'base64url' });
    return encode(bytes) === text ? bytes : null;
  } catch {
    return null;
  }
}
