import { describe, expect, it } from 'vitest';
import { checkContractions } from '../../src/tools/migrations/check-contractions';
import { findBreaks } from '../../src/tools/migrations/find-breaks';
import {
  buildDatabase,
  type Migration,
  readMigrations,
} from '../../src/tools/migrations/migration';
import { planMigrations, type RunningVersion } from '../../src/tools/migrations/plan-migrations';
import { readSchema } from '../../src/tools/migrations/schema';

const BASE: Migration = {
  name: '0000_base.sql',
  sql: `CREATE TABLE agents (id blob PRIMARY KEY NOT NULL, account integer NOT NULL, name text, kind integer NOT NULL) WITHOUT ROWID;
    CREATE INDEX agents_by_account ON agents (account);
    CREATE TABLE keys (hash blob PRIMARY KEY NOT NULL) WITHOUT ROWID;
    CREATE TABLE owners (id blob PRIMARY KEY NOT NULL, email text UNIQUE, agent blob REFERENCES agents (id)) WITHOUT ROWID;
    CREATE TABLE notes (
      id blob PRIMARY KEY NOT NULL, agent blob REFERENCES agents (id) ON DELETE CASCADE, owner blob REFERENCES owners (id)
    ) WITHOUT ROWID;
    CREATE TRIGGER agents_delete AFTER DELETE ON agents BEGIN DELETE FROM keys; END;`,
};

const REBUILT = (columns: string) => `CREATE TABLE new_agents (${columns}) WITHOUT ROWID;
  DROP TABLE agents; ALTER TABLE new_agents RENAME TO agents;
  CREATE INDEX agents_by_account ON agents (account);
  CREATE TRIGGER agents_delete AFTER DELETE ON agents BEGIN DELETE FROM keys; END;`;

function breaksOf(sql: string): string[] {
  const schemas = [[BASE], [BASE, { name: '0001_change.sql', sql }]].map((list) =>
    readSchema(buildDatabase(list)),
  );
  return findBreaks(...(schemas as [ReturnType<typeof readSchema>, ReturnType<typeof readSchema>]));
}

describe('what a migration takes from the version before it', () => {
  it.each([
    ['drops a table', 'DROP TABLE keys', 'drops the table keys'],
    [
      'renames a table that a trigger names',
      'ALTER TABLE keys RENAME TO api_keys',
      ['changes the trigger agents_delete', 'drops the table keys'],
    ],
    ['drops a column', 'ALTER TABLE agents DROP COLUMN name', 'drops the column agents.name'],
    [
      'renames a column',
      'ALTER TABLE agents RENAME COLUMN name TO title',
      'drops the column agents.name',
    ],
    ['drops an index', 'DROP INDEX agents_by_account', 'drops the index agents_by_account'],
    [
      'changes an index',
      'DROP INDEX agents_by_account; CREATE INDEX agents_by_account ON agents (account) WHERE kind = 1',
      'changes the index agents_by_account',
    ],
    [
      'drops a UNIQUE constraint',
      `DROP TABLE owners;
       CREATE TABLE owners (id blob PRIMARY KEY NOT NULL, email text, agent blob REFERENCES agents (id)) WITHOUT ROWID`,
      'drops UNIQUE (email) from owners',
    ],
    [
      'deletes what it did not delete',
      `DROP TABLE owners;
       CREATE TABLE owners (
         id blob PRIMARY KEY NOT NULL, email text UNIQUE, agent blob REFERENCES agents (id) ON DELETE CASCADE
       ) WITHOUT ROWID`,
      'adds FOREIGN KEY (agent) REFERENCES agents (id) ON UPDATE NO ACTION ON DELETE CASCADE to owners',
    ],
    [
      'no longer deletes what it deleted',
      `DROP TABLE notes;
       CREATE TABLE notes (id blob PRIMARY KEY NOT NULL, agent blob, owner blob REFERENCES owners (id)) WITHOUT ROWID`,
      'drops FOREIGN KEY (agent) REFERENCES agents (id) ON UPDATE NO ACTION ON DELETE CASCADE from notes',
    ],
    [
      'changes a trigger',
      `DROP TRIGGER agents_delete; CREATE TRIGGER agents_delete AFTER DELETE ON agents
       BEGIN DELETE FROM keys WHERE hash = OLD.id; END`,
      'changes the trigger agents_delete',
    ],
    ['drops a trigger', 'DROP TRIGGER agents_delete', 'drops the trigger agents_delete'],
    [
      'adds a unique index',
      'CREATE UNIQUE INDEX agents_by_name ON agents (account, name)',
      'adds the unique index agents_by_name to agents',
    ],
    [
      'adds a trigger that refuses',
      `CREATE TRIGGER no_names BEFORE INSERT ON agents BEGIN SELECT RAISE(ABORT, 'no'); END`,
      'adds the trigger no_names, which refuses writes, to agents',
    ],
    [
      'requires a value that was optional',
      REBUILT(
        'id blob PRIMARY KEY NOT NULL, account integer NOT NULL, name text NOT NULL, kind integer NOT NULL',
      ),
      'makes agents.name NOT NULL',
    ],
    [
      'adds a required column',
      REBUILT(
        'id blob PRIMARY KEY NOT NULL, account integer NOT NULL, name text, kind integer NOT NULL, owner blob NOT NULL',
      ),
      'adds the column agents.owner, which is NOT NULL without a default',
    ],
    [
      'changes a type',
      REBUILT(
        'id blob PRIMARY KEY NOT NULL, account text NOT NULL, name text, kind integer NOT NULL',
      ),
      'changes the type of agents.account',
    ],
    [
      'changes the key',
      REBUILT(
        'id blob NOT NULL, account integer NOT NULL, name text, kind integer NOT NULL, PRIMARY KEY (account, id)',
      ),
      'changes the primary key of agents',
    ],
    [
      'adds constraints',
      REBUILT(
        `id blob PRIMARY KEY NOT NULL, account integer NOT NULL, name text, kind integer NOT NULL CHECK (kind IN (1, 2)), UNIQUE (name)`,
      ),
      ['adds CHECK (kind IN (1, 2)) to agents', 'adds UNIQUE (name) to agents'],
    ],
  ])('one that %s', (_, sql, breaks) => {
    expect(breaksOf(sql).toSorted()).toEqual([breaks].flat());
  });

  it.each([
    [
      'adds a table with a unique index',
      'CREATE TABLE a (b text); CREATE UNIQUE INDEX a_by_b ON a (b)',
    ],
    ['adds a column', 'ALTER TABLE agents ADD owner blob'],
    [
      'adds a required column with a default',
      'ALTER TABLE agents ADD level integer NOT NULL DEFAULT 0',
    ],
    ['adds an index', 'CREATE INDEX agents_by_kind ON agents (kind)'],
    ['adds a trigger', 'CREATE TRIGGER t AFTER INSERT ON agents BEGIN DELETE FROM keys; END'],
    ['changes rows', 'UPDATE agents SET kind = 2'],
    [
      'drops a foreign key that only refuses',
      `DROP TABLE notes;
       CREATE TABLE notes (
         id blob PRIMARY KEY NOT NULL, agent blob REFERENCES agents (id) ON DELETE CASCADE, owner blob
       ) WITHOUT ROWID`,
    ],
    [
      'rebuilds a table without a requirement',
      REBUILT(
        'id blob PRIMARY KEY NOT NULL, account integer NOT NULL, kind integer NOT NULL DEFAULT 1, name text',
      ),
    ],
  ])('nothing, by one that %s', (_, sql) => {
    expect(breaksOf(sql)).toEqual([]);
  });
});

describe('the rule of expand and contract', () => {
  const check = (...sql: string[]) =>
    checkContractions([
      BASE,
      ...sql.map((text, place) => ({ name: `000${1 + place}_m.sql`, sql: text })),
    ]);

  it('lets a contraction take something away, and nothing else', () => {
    expect(check('DROP INDEX agents_by_account')).toEqual([
      expect.stringMatching(
        /^0001_m\.sql drops the index agents_by_account: .* -- contract: <reason>$/,
      ),
    ]);
    expect(
      check('-- contract: nothing lists agents without a kind\nDROP INDEX agents_by_account;'),
    ).toEqual([]);
    expect(check('-- contract:\nDROP INDEX agents_by_account;')).toHaveLength(1);
  });

  it.each([
    ['takes nothing away', 'ALTER TABLE agents ADD owner blob', /takes nothing away/],
    [
      'adds a column',
      'DROP TABLE keys; ALTER TABLE agents ADD owner blob',
      /adds the column agents\.owner/,
    ],
    ['adds a table', 'ALTER TABLE keys RENAME TO api_keys', /adds the table api_keys/],
    [
      'drops a column that needs a value',
      'ALTER TABLE agents DROP COLUMN kind',
      /agents\.kind.*First make it nullable/,
    ],
  ])('refuses a contraction that %s', (_, sql, message) => {
    expect(check(`-- contract: unused\n${sql};`).join('\n')).toMatch(message);
  });

  it('refuses a migration that depends on a contraction before it', () => {
    const contraction = '-- contract: unused\nDROP INDEX agents_by_account;';
    expect(check(contraction, 'CREATE INDEX agents_by_account ON agents (account, kind)')).toEqual([
      expect.stringMatching(
        /0002_m\.sql: index agents_by_account already exists\. Contractions are applied last/,
      ),
    ]);
    expect(check(contraction, 'CREATE INDEX agents_by_kind ON agents (kind)')).toEqual([]);
  });

  it('holds for the migrations of this repository', () => {
    expect(checkContractions(readMigrations())).toEqual([]);
  });
});

describe('the migrations that a deployment applies', () => {
  const NOW = Date.parse('2026-01-31T12:00:00Z');
  const HOUR = 3_600_000;
  const added = { name: '0001_add.sql', sql: 'ALTER TABLE agents ADD owner blob' };
  const contraction = {
    name: '0002_contract.sql',
    sql: '-- contract: unused\nDROP INDEX agents_by_account;',
  };
  const more = { name: '0003_more.sql', sql: 'CREATE INDEX agents_by_kind ON agents (kind)' };
  const all = [BASE, added, contraction, more];
  const plan = (applied: Migration[], running: RunningVersion[], migrations = all) =>
    planMigrations(migrations, new Set(applied.map(({ name }) => name)), running, NOW);
  const version = (newestMigration: number | null, age = HOUR): RunningVersion => ({
    newestMigration,
    since: NOW - age,
  });

  it('are all of them while nothing runs', () => {
    expect(plan([], [])).toEqual({ resulting: all, held: [] });
  });

  it.each([
    ['a version that does not know them runs', [version(1)]],
    ['a version of unknown age runs', [version(null)]],
    ['one of two versions does not know them', [version(3), version(1)]],
    ['the version before them may still be at work', [version(3, 14 * 60_000)]],
  ])('are not the contractions while %s', (_, running) => {
    expect(plan([BASE], running)).toEqual({
      resulting: [BASE, added, more],
      held: [{ name: '0002_contract.sql', reason: 'unused' }],
    });
  });

  it('are the contractions too when every version has known them for a quarter of an hour', () => {
    expect(plan([BASE, added, more], [version(3), version(2, 15 * 60_000)])).toEqual({
      resulting: all,
      held: [],
    });
  });

  it('are those that other databases have, for a new database', () => {
    expect(plan(all, [version(0)])).toEqual({ resulting: all, held: [] });
  });

  it('are refused if one breaks the running version and does not say that it is a contraction', () => {
    const broken = [BASE, { name: '0001_drop.sql', sql: 'DROP TABLE keys' }];
    expect(() => plan([BASE], [version(0)], broken)).toThrow(
      /^The migration 0001_drop\.sql would break the version that is running, because it drops the table keys\.\nNothing/,
    );
    expect(plan([BASE], [], broken).resulting).toEqual(broken);
    expect(plan(broken, [version(0)], broken).resulting).toEqual(broken);
  });

  it('are refused if a database is ahead', () => {
    expect(() => plan(all, [version(3)], [BASE, added])).toThrow(
      /0002_contract\.sql, 0003_more\.sql/,
    );
  });
});
