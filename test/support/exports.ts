import { env } from 'cloudflare:test';
import { zstdDecompressSync } from 'node:zlib';
import { parse } from 'csv-parse/browser/esm/sync';
import { parquetReadObjects } from 'hyparquet';
import type { JobSizes } from '../../src/files/job-context';
import { BackgroundWork } from './background-work';
import { type Json, ORIGIN, type TestAccount, type TestAgent, type World } from './world';

export const ALWAYS = { start_date: '2020-01-01', end_date: '2030-01-01' };

/** Downloads the bytes of a file from its signed URL. */
export async function download(
  world: World,
  url: string,
  headers: Record<string, string> = {},
  method = 'GET',
) {
  const work = new BackgroundWork();
  const path = url.replace(world.env.PUBLIC_URL ?? '', '');
  const response = await world.app.fetch(
    new Request(ORIGIN + path, { method, headers }),
    world.env,
    work.context,
  );
  const bytes = new Uint8Array(await response.arrayBuffer());
  await work.finish();
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    text: new TextDecoder().decode(bytes),
  };
}

/**
 * Requests an export of all entries, or with `fields`, without running the background job. Returns
 * its id.
 */
export async function startExport(account: TestAccount, fields: Json = {}): Promise<string> {
  const { body } = await account.must(202, 'POST', '/v1/audit/export', { ...ALWAYS, ...fields });
  return body.export_id;
}

export async function readExport(account: TestAccount, id: string): Promise<Json> {
  return (await account.must(200, 'GET', `/v1/audit/export/${id}`)).body;
}

/** Requests an export, runs the background job, and downloads the file. */
export async function makeExport(account: TestAccount, fields: Json = {}, sizes?: JobSizes) {
  const id = await startExport(account, fields);
  await account.world.work(sizes);
  const shown = await readExport(account, id);
  const file = shown.download_url ? await download(account.world, shown.download_url) : null;
  return { id, shown, bytes: file?.bytes ?? new Uint8Array(), text: file?.text ?? '' };
}

/**
 * Runs a sweep each minute until a file is finished; a job that died restarts when its lease
 * expires.
 */
export async function finishFile(
  world: World,
  read: () => Promise<Json>,
  sizes: JobSizes,
): Promise<Json> {
  for (let minute = 0; minute < 20; minute++) {
    const shown = await read();
    if (shown.status !== 'processing') return shown;
    await world.sweep();
    await world.work(sizes);
    world.advance(30_000);
    await world.work(sizes);
    world.advance(30_000);
  }
  throw new Error('the file is not over after 20 minutes');
}

/** SHA-256 in hexadecimal. */
export async function sha256(bytes: Uint8Array): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', Uint8Array.from(bytes))).toHex();
}

/**
 * Reads a file of any format as rows in the form of the API's entries, with parsers that share no
 * code with the service.
 */
export async function parseFile(format: string, bytes: Uint8Array): Promise<Json[]> {
  if (format === 'json') return JSON.parse(new TextDecoder().decode(bytes));
  if (format === 'csv') {
    const records: Json[] = parse(
      new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes),
      {
        columns: true,
        record_delimiter: '\r\n',
      },
    );
    return records.map((record) => ({
      ...record,
      sequence: Number(record.sequence),
      ...(record.details !== undefined && { details: JSON.parse(record.details) }),
    }));
  }
  const compressors = { ZSTD: (input: Uint8Array) => new Uint8Array(zstdDecompressSync(input)) };
  const rows: Json[] = await parquetReadObjects({
    file: Uint8Array.from(bytes).buffer,
    compressors,
  });
  return rows.map((row) => ({
    ...row,
    sequence: Number(row.sequence),
    created_at: row.created_at.toISOString(),
    ...(row.details !== undefined && { details: JSON.parse(row.details) }),
  }));
}

/** The row that a file should have for an entry as the API shows it. */
export function expectedRow({ details, ...entry }: Json, withDetails: boolean): Json {
  return {
    ...entry,
    action: details.action,
    resource: details.resource,
    ...(withDetails && { details }),
  };
}

/**
 * Appends `count` copies of an agent's newest entry, each with random details of `size` characters.
 */
export async function fillLog(agent: TestAgent, count: number, size: number): Promise<void> {
  await agent.request({ expires_in: 604_800 });
  const { results } = await env.DB.prepare('select max(pos) as pos from audit_entries').all<{
    pos: number;
  }>();
  await env.DB.prepare(
    `insert into audit_entries select pos + n.value, agent, permission, null, n.value % 6, action, created_at,
       ip_address, user_agent, json_object('action', action, 'resource', 'mailbox:' || n.value, 'noise',
       hex(randomblob(${size / 2}))), random
     from audit_entries, (with recursive n(value) as (select 1 union all select value + 1 from n where value < ${count})
       select value from n) as n where pos = ?`,
  )
    .bind(results[0]?.pos)
    .run();
}

/** The keys of all objects that belong to files. */
export async function listObjects(): Promise<string[]> {
  const { objects } = await env.FILES.list({ prefix: 'files/' });
  return objects.map(({ key }) => key);
}
