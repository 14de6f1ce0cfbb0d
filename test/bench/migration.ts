import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ROOT } from '../../src/dev/project.ts';
import type { Report } from './report.ts';

/** The last migration of the previous release. */
const RELEASED = '0016_inputs.sql';

const ENTRIES = 1_000_000;
const PERMISSIONS = 200_000;
const RECORDS = 100_000;
const TOKENS = 1_000;

/** The longest time for which one migration may hold the database, in milliseconds. */
const MAX_LOCK = 5_000;

/**
 * Migrates a database of the previous release with a million audit entries, in SQLite. D1 applies
 * each migration as one transaction, so the time that one takes is also the time for which it locks
 * the database.
 */
export async function measureMigration(report: Report, state: string): Promise<void> {
  report.heading(
    `Migrations since ${RELEASED}, with ${ENTRIES.toLocaleString('en')} audit entries`,
  );
  const database = new DatabaseSync(join(state, 'migration.sqlite'));
  const folder = join(ROOT, 'migrations');
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .toSorted();
  const apply = (name: string) => {
    database.exec('begin immediate');
    database.exec(readFileSync(join(folder, name), 'utf8'));
    database.exec('commit');
  };
  for (const name of files.filter((name) => name <= RELEASED)) apply(name);
  for (const statement of FILLING) database.exec(statement);
  const count = () =>
    TABLES.map((name) => database.prepare(`select count(*) as n from ${name}`).get()?.n);
  const before = count();
  for (const name of files.filter((name) => name > RELEASED)) {
    const started = performance.now();
    apply(name);
    report.atMost(MAX_LOCK, Math.round(performance.now() - started), `${name}, ms`);
  }
  report.verdict(
    JSON.stringify(count()) === JSON.stringify(before),
    `every row is kept: ${before.join(', ')}`,
  );
  const [damage] = database.prepare('pragma integrity_check').all();
  report.verdict(damage?.integrity_check === 'ok', 'the database is whole');
  database.close();
}

const TABLES = [
  'accounts',
  'agents',
  'user_tokens',
  'permissions',
  'policies',
  'audit_entries',
  'activity',
];

const numbers = (count: number) => `with recursive numbers (n) as (
  select 1 union all select n + 1 from numbers where n < ${count}
)`;

/** One account with everything that a migration touches. */
const FILLING = [
  `insert into accounts (number, id, email, plan, is_active, created_at, updated_at)
   values (1, randomblob(16), 'owner@example.com', 2, 1, 0, 0)`,
  `${numbers(100)} insert into agents (number, account, id, name, key_prefix, metadata, is_active, created_at, updated_at)
   select n, 1, randomblob(16), 'Agent ' || n, 'csa_', '{}', 1, 0, 0 from numbers`,
  `${numbers(TOKENS)} insert into user_tokens (hash, id, account, prefix, scopes, created_at)
   select randomblob(32), randomblob(16), 1, 'csu_', '["audit:read"]', 0 from numbers`,
  `${numbers(PERMISSIONS)} insert into permissions
     (account, id, agent, action, resource, scope, token_ttl, max_uses, status, last_entry, expires_at, created_at, updated_at)
   select 1, randomblob(16), n % 100 + 1, 'email.send', 'mailbox:' || n, '{"n":5}', 900, 1, min(n % 20, 3), randomblob(16), n, n, n
   from numbers`,
  `${numbers(200)} insert into policies
     (account, id, name, effect, actions, resources, conditions, priority, is_active, created_at, updated_at)
   select 1, randomblob(16), 'Policy', n % 2, '["*"]', '["*"]', '{}', 0, 1, 0, 0 from numbers`,
  `${numbers(ENTRIES)} insert into audit_entries
     (pos, id, agent, permission, event, action, created_at, ip_address, user_agent, details, salt)
   select 4294967296 + n, randomblob(16), n % 100 + 1, randomblob(16), n % 6, 'email.send', n, '192.0.2.1', 'agent/1.0',
     '{"action":"email.send","resource":"mailbox:support","scope":{"n":5},"decided_by":null,"decision_reason":null,"policy_id":null}',
     randomblob(16)
   from numbers`,
  `${numbers(RECORDS)} insert into activity (account, id, actor, action, target, changes, ip_address, user_agent, created_at)
   select 1, randomblob(16), 'utok_x', 0, 'agent_x', '[]', '192.0.2.1', 'curl', n from numbers`,
];
