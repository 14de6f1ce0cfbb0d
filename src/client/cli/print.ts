import { write } from './io.ts';
import type { Session } from './session.ts';
import { printableJson } from './terminal/escape.ts';
import { type Column, formatTable } from './terminal/table.ts';

/** Prints one record: the lines for people, or one line of JSON. */
export async function printRecord(session: Session, record: unknown, lines: () => string[]): Promise<void> {
  const text = session.isHuman ? lines().join('\n') : printableJson(record);
  await write(session.io.stdout, `${text}\n`);
}

/** Prints a list: a table for people, or a line of JSON for each entry as soon as it is read. */
export async function printList<Row>(
  session: Session,
  rows: AsyncIterable<Row> | Iterable<Row>,
  columns: Column<Row>[],
): Promise<void> {
  const { io, isHuman, style, width } = session;
  if (!isHuman) {
    for await (const row of rows) await write(io.stdout, `${printableJson(row)}\n`);
    return;
  }
  const all: Row[] = [];
  for await (const row of rows) all.push(row);
  if (all.length === 0) return await note(session, 'Nothing found.');
  await write(io.stdout, `${formatTable(all, columns, width, style).join('\n')}\n`);
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
