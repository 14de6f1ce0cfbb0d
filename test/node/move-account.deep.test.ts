import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { json, text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { formatId } from '../../src/lib/typeid';
import { copyProject } from '../support/local/project';

const ACCOUNT = '0123456789abcdef0123456789abcdef';
const IDS = {
  first: '00000000-0000-0000-0000-000000000000',
  second: '00000000-0000-0000-0000-000000000001',
};
const SIGNED_IN = { CLOUDFLARE_API_TOKEN: 'token-of-the-test', CLOUDFLARE_ACCOUNT_ID: ACCOUNT };

const bytes = Uint8Array.from({ length: 16 }, (_, i) => i + 1);
const user = formatId('user', bytes);
const folder = mkdtempSync(join(tmpdir(), 'countersign-move-'));
const api = {
  origin: '',
  server: null as Server | null,
  fault: null as object | null,
  asked: [] as string[],
};
let databases: Record<string, DatabaseSync> = {};

beforeAll(async () => {
  copyProject(folder);
  api.server = createServer(async (request, response) => {
    const body = await answer(
      request.url ?? '',
      request.method === 'POST' ? await json(request) : null,
    );
    response
      .writeHead(body.success ? 200 : 400, { 'Content-Type': 'application/json' })
      .end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => api.server?.listen(0, '127.0.0.1', resolve));
  const address = api.server.address();
  if (address && typeof address === 'object') api.origin = `http://127.0.0.1:${address.port}`;
});

beforeEach(() => {
  api.fault = null;
  api.asked = [];
  databases = { [IDS.first]: openDatabase(), [IDS.second]: openDatabase() };
  insertAccount(IDS.first);
});

afterAll(() => {
  api.server?.close();
  rmSync(folder, { recursive: true });
});

/**
 * Answers a query of one statement as Cloudflare's API does, including the metadata that D1 adds.
 */
async function answer(url: string, body: unknown) {
  const whole = { success: true, errors: [] as object[], messages: [] as object[] };
  const [, id = ''] =
    new RegExp(`^/accounts/${ACCOUNT}/d1/database/([^/]+)/query$`).exec(url) ?? [];
  const database = databases[id];
  if (url.startsWith('/accounts?') || url.startsWith('/memberships')) {
    const accounts = [ACCOUNT, ACCOUNT.replace('0', 'f')].map((id) => ({ id, name: id }));
    const result = url.startsWith('/accounts?')
      ? accounts
      : accounts.map((account) => ({ id: account.id, account }));
    return {
      ...whole,
      result,
      result_info: { page: 1, per_page: 50, count: 2, total_count: 2, total_pages: 1 },
    };
  }
  if (!database)
    return {
      ...whole,
      success: false,
      errors: [{ code: 7_404, message: `no such address: ${url}` }],
      result: null,
    };
  if (api.fault) return { ...whole, success: false, errors: [api.fault], result: null };
  const { sql } = body as { sql: string };
  api.asked.push(`${id} ${sql}`);
  const results = database.prepare(sql).all();
  const meta = {
    served_by: 'v3-prod',
    duration: 0.2,
    changes: 0,
    last_row_id: 0,
    changed_db: false,
    size_after: 8_192,
  };
  if (sql.startsWith('insert into moves')) arrive();
  return {
    ...whole,
    result: [{ results, success: true, meta: { ...meta, rows_read: 1, rows_written: 0 } }],
  };
}

/** Moves the account as the sweep of the deployment would. */
function arrive(): void {
  const order = databases[IDS.first]?.prepare('select * from moves').get();
  expect(order).toMatchObject({ account: 1, direction: 0, shard: '01', turns: 0, held_at: null });
  databases[IDS.first]?.exec('delete from moves; delete from accounts');
  insertAccount(IDS.second);
}

function openDatabase(): DatabaseSync {
  const migrations = join(folder, 'migrations');
  const database = new DatabaseSync(':memory:');
  for (const name of readdirSync(migrations).sort()) {
    if (name.endsWith('.sql')) database.exec(readFileSync(join(migrations, name), 'utf8'));
  }
  return database;
}

function insertAccount(id: string): void {
  databases[id]
    ?.prepare(
      `insert into accounts (id, email, plan, is_active, created_at, updated_at) values (?, 'a@example.com', 0, 1, 0, 0)`,
    )
    .run(bytes);
}

async function moveAccount(words: string[], variables: NodeJS.ProcessEnv) {
  const { CLOUDFLARE_API_TOKEN: _, CLOUDFLARE_ACCOUNT_ID: __, ...inherited } = process.env;
  const child = spawn(process.execPath, ['src/tools/move-account.ts', ...words], {
    cwd: folder,
    env: {
      ...inherited,
      HOME: folder,
      XDG_CONFIG_HOME: folder,
      CLOUDFLARE_API_BASE_URL: api.origin,
      ...variables,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const [said, complained, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    exit,
  ]);
  return { said, complained, code };
}

it('orders a move in the database of the shard that has the account, and waits until the account has moved', async () => {
  const { said, complained, code } = await moveAccount([user, '01', '--remote'], SIGNED_IN);
  expect({ complained, code }).toEqual({ complained: '', code: 0 });
  expect(said).toBe(`The next sweeps move ${user} …\n${user} is on shard 01.\n`);
  expect(api.asked.filter((asked) => /insert|update|delete/.test(asked))).toEqual([
    expect.stringContaining(
      `${IDS.first} insert into moves (account, id, direction, shard, created_at) select number`,
    ),
  ]);
});

it.each([
  ['there is no login', {}, /CLOUDFLARE_API_TOKEN[\s\S]*npx wrangler login/],
  [
    'a login has several accounts',
    { CLOUDFLARE_API_TOKEN: 'token-of-the-test' },
    /More than one account[\s\S]*CLOUDFLARE_ACCOUNT_ID[\s\S]*f123456789/,
  ],
  [
    'the database fails',
    SIGNED_IN,
    /A request to the Cloudflare API[\s\S]*failed\.\nD1 DB is overloaded[\s\S]*7429/,
  ],
])('explains the failure when %s', async (what, variables, message) => {
  if (what === 'the database fails')
    api.fault = { code: 7_429, message: 'D1 DB is overloaded. Requests queued for too long.' };
  const { said, complained, code } = await moveAccount([user, '01', '--remote'], variables);
  expect({ said, code }).toEqual({ said: '', code: 1 });
  expect(complained).toMatch(/^The database DB did not answer\.\n/);
  expect(complained).toMatch(message);
  expect(complained).not.toContain('{');
});
