import type { Permission } from '../api.ts';
import { write } from './io.ts';
import { formatPermission } from './permission-card.ts';
import type { Session } from './session.ts';
import { printableJson } from './terminal/escape.ts';
import type { Column } from './terminal/table.ts';

/** Prints one record: the lines for people, or one line of JSON. */
export async function printRecord(session: Session, record: unknown, lines: () => string[]): Promise<void> {
  const text = session.isHuman ? lines().join('\n') : printableJson(record);
  await write(session.io.stdout, `${text}\n`);
}

/** Prints a request: the card for people, or one line of JSON. */
export async function printPermission(session: Session, permission: Permission): Promise<void> {
  const { client, style, width } = session;
  await printRecord(session, permission, () =>
    formatPermission(permission, { style, width, baseUrl: client.baseUrl, now: client.clock.now() }),
  );
}

/** Prints a list: a table for people, or a line of JSON for each entry as soon as it is read. */
export async function printList<Row>(
  session: Session,
  rows: AsyncIterable<Row> | Iterable<Row>,
  columns: Column<Row>[],
): Promise<void> {
  const { io } = session;
  if (!session.isHuman) {
    for await (const row of rows) await write(io.stdout, `${printableJson(row)}\n`);
    return;
  }
  const all: Row[] = [];
  for await (const row of rows) all.push(row);
  if (all.length === 0) return await note(session, 'Nothing found.');
  await write(io.stdout, `${session.table(all, columns).join('\n')}\n`);
}

/** Tells the person something that is no data: on stderr. The text is printed as it is. */
export async function note({ io }: Pick<Session, 'io'>, text: string): Promise<void> {
  await write(io.stderr, `${text}\n`);
}

/** Yields at most so many entries of a list, and tells when there are more. */
export async function* takeFirst<T>(session: Session, rows: AsyncIterable<T>, limit: number): AsyncGenerator<T> {
  let count = 0;
  for await (const row of rows) {
    if (count === limit) return await note(session, `There are more than ${limit}: raise --limit to see them.`);
    count++;
    yield row;
  }
}
