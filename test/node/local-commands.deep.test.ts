import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyProject } from '../support/local/project';
import { databaseFile } from '../support/local/service';

/**
 * How long the database stays locked, in milliseconds: longer than wrangler takes to run into the
 * lock.
 */
const LOCKED = 6_000;

describe('while another process locks the local database', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-locked-'));
  const { signal } = new AbortController();
  let dev: Dev;

  interface Dev {
    applyMigrations: typeof import('../../src/tools/database')['applyMigrations'];
    queryDatabase: typeof import('../../src/tools/database')['queryDatabase'];
  }

  beforeAll(async () => {
    copyProject(folder);
    // The copy finds its data in the copied project.
    dev = await import(
      /* @vite-ignore */ pathToFileURL(join(folder, 'src/tools/database.ts')).href
    );
    await dev.applyMigrations({ config: 'wrangler.toml' }, 'DB', signal);
  });
  afterAll(() => rmSync(folder, { recursive: true, maxRetries: 5, retryDelay: 200 }));

  it.each<[string, (dev: Dev) => Promise<unknown>]>([
    ['a query', ({ queryDatabase }) => ask(queryDatabase, 'select 1 as n')],
    [
      'a change',
      ({ queryDatabase }) =>
        ask(queryDatabase, `insert into moved_accounts values (x'01', '00') returning 1 as n`),
    ],
    [
      'a migration',
      ({ applyMigrations }) => applyMigrations({ config: 'wrangler.toml' }, 'DB', signal),
    ],
  ])('%s waits until the lock is released', async (_, run) => {
    const database = new DatabaseSync(databaseFile(join(folder, '.wrangler/state')));
    database.exec('begin immediate');
    const unlocked = new Promise<void>((resolve) =>
      setTimeout(() => {
        database.exec('rollback');
        database.close();
        resolve();
      }, LOCKED),
    );
    const started = Date.now();
    try {
      await run(dev);
      expect(Date.now() - started).toBeGreaterThanOrEqual(LOCKED);
    } finally {
      await unlocked;
    }
  });

  async function ask(queryDatabase: Dev['queryDatabase'], sql: string) {
    expect(await queryDatabase({ config: 'wrangler.toml' }, 'DB', '--local', sql, signal)).toEqual([
      { n: 1 },
    ]);
  }
});
