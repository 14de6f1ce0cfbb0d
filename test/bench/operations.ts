import { DatabaseSync } from 'node:sqlite';
import { type Answer, Client, type StatementCost } from '../support/local/client.ts';
import { databaseFile, startService } from '../support/local/service.ts';
import type { Report } from './report.ts';
import { enterprise, setScene } from './scene.ts';

const MAX_WRITTEN_BY_ENTRY = 5;
const MAX_BYTES_OF_ENTRY = 400;

type Permission = { id: string; token: { id: string; value?: string } | null };

const ENTRIES = 100_000;

/**
 * Measures each step in the life of a permission: the whole request, and the statement that appends
 * the audit entry.
 */
export async function measureOperations(report: Report, state: string): Promise<void> {
  report.heading(
    `State changes, ${ENTRIES} entries: rows of the whole request, and of appending the audit entry`,
  );
  const [{ token, agents }] = await setScene(state, [enterprise(ENTRIES, 200, 360)] as const);
  measureSize(report, state);
  const { origin, stop } = await startService(state, 'test/bench/metered-worker.ts');
  try {
    await takeThroughLife(report, origin, token, agents[0]?.key ?? '');
  } finally {
    await stop();
  }
}

/** Measures the bytes of the database file for each entry, with the indexes of the log. */
function measureSize(report: Report, state: string): void {
  const database = new DatabaseSync(databaseFile(state));
  try {
    const row = database
      .prepare(
        `select sum(pgsize) / (select count(*) from audit_entries) as bytes from dbstat
         where name = 'audit_entries' or name glob 'audit_by_*'`,
      )
      .get();
    report.atMost(MAX_BYTES_OF_ENTRY, Number(row?.bytes), 'bytes of an entry on disk');
  } finally {
    database.close();
  }
}

async function takeThroughLife(
  report: Report,
  origin: string,
  token: string,
  key: string,
): Promise<void> {
  const user = new Client(origin, token);
  const agent = new Client(origin, key);
  const request = () =>
    agent.expect<Permission>(201, 'POST', '/v1/permissions', {
      ...{
        action: 'area-0.verb-0',
        resource: 'mailbox:support',
        scope: { max_recipients: 10 },
        max_uses: 3,
      },
      ...{ expires_in: 60, token_ttl: 30 },
    });
  const approve = ({ body }: Answer<Permission>) =>
    user.expect<Permission>(200, 'POST', `/v1/permissions/${body.id}/approve`, {
      reason: 'agreed',
    });

  // The first call of a minute also records the use of the credential.
  await request().then(approve);
  const requested = await request();
  measure(report, 'request', requested);
  const approved = await approve(requested);
  measure(report, 'approve', approved);
  const denied = await request();
  measure(
    report,
    'deny',
    await user.expect(200, 'POST', `/v1/permissions/${denied.body.id}/deny`, {}),
  );
  const { body } = await agent.expect<Permission>(
    200,
    'GET',
    `/v1/permissions/${requested.body.id}`,
  );
  const value = { token: body.token?.value };
  measure(report, 'use', await agent.expect(200, 'POST', '/v1/tokens/use', value));
  measure(report, 'revoke', await agent.expect(200, 'POST', '/v1/tokens/revoke', value));
}

/** Measures the sweep that expires pending requests, per entry. */
export async function measureExpiry(report: Report, state: string): Promise<void> {
  report.heading(`The sweep that expires permissions, ${ENTRIES} entries: rows per entry`);
  // A history of five days, so that some requests have expired in the half hour since its last
  // entry.
  await setScene(state, [enterprise(ENTRIES, 200, 5)]);
  const { origin, stop } = await startService(state, 'test/bench/metered-worker.ts');
  try {
    const swept = await new Client(origin, '').expect(200, 'POST', '/bench/expire');
    const count = findAppend(swept)?.changes;
    if (!count) throw new Error('no request had expired');
    measure(report, 'expire', swept, count);
  } finally {
    await stop();
  }
}

/** The statement that appends audit entries. */
function findAppend({ statements }: Answer<unknown>): StatementCost | undefined {
  return statements.find(({ sql }) => sql.startsWith('insert into audit_entries'));
}

/**
 * Reports the rows that an answer's statements read and wrote per entry, and the rows written by
 * table.
 */
export function measure(report: Report, name: string, answer: Answer<unknown>, entries = 1): void {
  const { cost } = answer;
  const append = findAppend(answer) as StatementCost;
  const each = (rows: number) => Math.round((rows / entries) * 100) / 100;
  const of = entries === 1 ? '' : ` (each of ${entries})`;
  const whole = `${name.padEnd(8)}${of} reads ${each(cost.read)}, writes ${each(cost.written)}`;
  const tables = new Map<string, number>();
  for (const { sql, written } of answer.statements) {
    const table = /^(?:insert into|update|delete from) "?(\w+)/.exec(sql)?.[1];
    if (table) tables.set(table, (tables.get(table) ?? 0) + written);
  }
  report.note(
    `${name.padEnd(8)} written: ${[...tables].map(([table, rows]) => `${table} ${each(rows)}`).join(', ')}`,
  );
  report.atMost(
    MAX_WRITTEN_BY_ENTRY,
    each(append.written),
    `${whole}; appending the entry reads ${each(append.read)}, writes`,
  );
}
