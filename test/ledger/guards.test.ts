import { env } from 'cloudflare:test';
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { Cost, Database } from '../../src/db/database';
import { usedChallenges } from '../../src/db/schema';
import { SERVICE_AUTHORITY } from '../../src/ledger/authority';
import { Ledger } from '../../src/ledger/ledger';
import { countRows } from '../support/tables';

/** A write of one row, under guards that hold or not. */
function write(conditions: Record<string, boolean | null>) {
  const cost = new Cost();
  const ledger = new Ledger(new Database(env.DB, cost), SERVICE_AUTHORITY);
  const row = { account: 1, challenge: new Uint8Array([1]), expiresAt: 1 };
  const results = ledger.write({
    guards: Object.entries(conditions).map(([name, condition]) => ({
      name,
      holds: sql`${condition}`,
      otherwise: () => new Error(`otherwise ${name}`),
    })),
    changes: (writer) => [
      writer.insert(usedChallenges).values(row).returning({ at: usedChallenges.expiresAt }),
    ],
  });
  return { cost, results };
}

it('a write whose guards hold is committed, and its results are those of its statements', async () => {
  const { cost, results } = write({ one_holds: true, another_holds: true });
  expect(await results).toEqual([[{ at: 1 }]]);
  expect(await countRows(env.DB)).toMatchObject({ used_challenges: 1, guards: 0 });
  // The row and its index: a guard writes nothing.
  expect(cost.rowsWritten).toBe(2);
});

it.each([
  ['the first that fails', { holds: true, fails: false, fails_too: false }, 'otherwise fails'],
  ['one whose condition is NULL', { is_unknown: null }, 'otherwise is_unknown'],
])(
  'a write is refused with the error of %s, and writes nothing',
  async (_, conditions, message) => {
    const before = await countRows(env.DB);
    await expect(write(conditions).results).rejects.toThrow(message);
    expect(await countRows(env.DB)).toEqual(before);
  },
);
