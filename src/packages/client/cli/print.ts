import type { Permission } from '../api.ts';
import { write } from './io.ts';
import { Names } from './names.ts';
import type { Options } from './options.ts';
import { formatPermission } from './permission-card.ts';
import type { Session } from './session.ts';
import { printableJson } from './terminal/escape.ts';
import type { Fact } from './terminal/facts.ts';
import type { Column } from './terminal/table.ts';
import { readNumber } from './values.ts';

/** The largest page of most lists. */
const MAX_PAGE = 100;

/** Prints one record: the lines for people, or one line of JSON. */
export async function printRecord(
  session: Session,
  record: unknown,
  lines: () => string[],
): Promise<void> {
  const text = session.isHuman ? lines().join('\n') : printableJson(record);
  await write(session.io.stdout, `${text}\n`);
}

/** Prints a record with a secret that is shown only once. */
export async function printSecret(session: Session, record: unknown, facts: Fact[]): Promise<void> {
  await printRecord(session, record, () => session.facts(facts));
  if (session.isHuman) await note(session, 'Keep the key now: it is not shown again.');
}

/** Prints a request: the card for people, or one line of JSON. */
export async function printPermission(session: Session, permission: Permission): Promise<void> {
  const { client, style, width } = session;
  const names = new Names(client);
  if (session.isHuman) await names.load([permission.agent_id, permission.decided_by]);
  await printRecord(session, permission, () =>
    formatPermission(permission, {
      style,
      width,
      baseUrl: client.baseUrl,
      now: client.clock.now(),
      names,
    }),
  );
}

/**
 * Prints a list: a table for people, or a line of JSON for each entry as soon as it is read.
 * @param prepare reads what the columns need besides the rows
 */
export async function printList<Row>(
  session: Session,
  rows: AsyncIterable<Row> | Iterable<Row>,
  columns: Column<Row>[],
  prepare?: (rows: Row[]) => Promise<void>,
): Promise<void> {
  const { io } = session;
  if (!session.isHuman) {
    for await (const row of rows) await write(io.stdout, `${printableJson(row)}\n`);
    return;
  }
  const all: Row[] = [];
  for await (const row of rows) all.push(row);
  await prepare?.(all);
  if (all.length === 0) return await note(session, 'Nothing found.');
  await write(io.stdout, `${session.table(all, columns).join('\n')}\n`);
}

/** Tells the person something that is no data: on stderr. The text is printed as it is. */
export async function note({ io }: Pick<Session, 'io'>, text: string): Promise<void> {
  await write(io.stderr, `${text}\n`);
}

/** The option of a list that says how much of it is printed. */
export const LIMIT = {
  limit: {
    type: 'string',
    default: '50',
    description: 'The greatest number of entries',
    valueHint: 'number',
  },
} as const satisfies Options;

/**
 * Prints the beginning of a list.
 * @param limit the value of {@link LIMIT}
 * @param list reads the list in pages of so many entries
 * @param prepare reads what the columns need besides the rows
 */
export async function printFirst<Row>(
  session: Session,
  limit: string,
  list: (page: number) => AsyncIterable<Row>,
  columns: Column<Row>[],
  prepare?: (rows: Row[]) => Promise<void>,
): Promise<void> {
  const count = readNumber(limit, 'limit');
  await printList(
    session,
    takeFirst(session, list(Math.min(count + 1, MAX_PAGE)), count),
    columns,
    prepare,
  );
}

/** Yields at most so many entries of a list, and tells when there are more. */
async function* takeFirst<T>(
  session: Session,
  rows: AsyncIterable<T>,
  limit: number,
): AsyncGenerator<T> {
  let count = 0;
  for await (const row of rows) {
    if (count === limit)
      return await note(session, `There are more than ${limit}: raise --limit to see them.`);
    count++;
    yield row;
  }
}
