import { execFile } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { copyProject } from '../support/local/project';
import { databaseFile } from '../support/local/service';

const PREPARE = `
  const { prepareLocalDeployment, readLocalDeployment } = await import('./src/tools/local-shards.ts');
  const { signal } = new AbortController();
  try {
    await prepareLocalDeployment(signal);
    const { config, databases } = readLocalDeployment();
    console.log(config, databases.map(({ binding }) => binding).join());
  } catch ({ message }) {
    console.log(message);
  }`;
const folder = mkdtempSync(join(tmpdir(), 'countersign-shards-'));
const local = join(folder, 'wrangler.local.toml');

// The project's wrangler.toml has two shards.
beforeAll(() => {
  copyProject(folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * Prepares the deployment as `npm start` does, with this value of `SHARDS`; returns what is
 * printed.
 */
async function prepare(shards: string | null): Promise<string> {
  writeFileSync(join(folder, '.dev.vars'), shards === null ? '' : `SHARDS=${shards}\n`);
  const words = ['--input-type=module', '--eval', PREPARE];
  const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: folder });
  return stdout.trim();
}

it('has as many shards as SHARDS says, and never fewer than wrangler.toml', async () => {
  expect(await prepare(null)).toBe('wrangler.toml DB,DB_01');
  expect(await prepare('2')).toBe('wrangler.toml DB,DB_01');
  expect(await prepare('3')).toBe('wrangler.local.toml DB,DB_01,DB_02');
  expect(readFileSync(local, 'utf8')).toContain(
    readFileSync(join(folder, 'wrangler.toml'), 'utf8'),
  );
  for (const wrong of ['0', '11', 'two', ''])
    expect(await prepare(wrong)).toMatch(/SHARDS in .dev.vars is a number/);
});

it('refuses to drop a shard that a credential refers to', async () => {
  expect(await prepare('3')).toBe('wrangler.local.toml DB,DB_01,DB_02');
  expect(await prepare('2')).toBe('wrangler.toml DB,DB_01');
  expect(existsSync(local)).toBe(false);
  await prepare('3');
  // Dropping the shard migrated its database first, to look into it: so far no other database
  // exists.
  const database = new DatabaseSync(databaseFile(join(folder, '.wrangler/state')));
  database.exec(`insert into moved_accounts values (x'01', '00')`);
  database.close();
  expect(await prepare('2')).toMatch(
    /DB_02 \(without an id\) any more, which has or had\n1 accounts\b/,
  );
  expect(await prepare('3')).toBe('wrangler.local.toml DB,DB_01,DB_02');
  // The same binding with a database id stands for another database.
  appendFileSync(
    join(folder, 'wrangler.toml'),
    '\n[[d1_databases]]\nbinding = "DB_02"\ndatabase_id = "deployed"\n',
  );
  expect(await prepare('3')).toMatch(/DB_02 \(without an id\) any more/);
  rmSync(local);
  expect(await prepare('3')).toBe('wrangler.toml DB,DB_01,DB_02');
});
