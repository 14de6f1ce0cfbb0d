import { DatabaseSync } from 'node:sqlite';
import { databaseFiles } from '../support/local/service.ts';
import type { Actor } from './load/actor.ts';
import { decide, request, revoke, useToken } from './load/permissions.ts';

const DAY = 24 * 60 * 60 * 1_000;
const REQUESTS = 60;
const [OLDEST, NEWEST] = [40, 10];

/** Writes the first entries of a log, before anything is sealed. */
export async function makePast(actor: Actor): Promise<void> {
  for (let made = 0; made < REQUESTS; made++) {
    await request(actor);
    await decide(actor);
    await useToken(actor);
    if (actor.random.chance(0.1)) await revoke(actor);
  }
  // The load must not use the old permissions.
  for (const permission of actor.memory.permissions) permission.status = 'over';
}

/**
 * Moves the times of all entries back, so that they spread over 30 days. The service must not run.
 * @returns how many entries there are
 */
export function agePast(state: string): number {
  return databaseFiles(state).reduce((entries, file) => entries + ageEntries(file), 0);
}

function ageEntries(file: string): number {
  const database = new DatabaseSync(file);
  try {
    // The account must be older than its entries.
    database.prepare('update accounts set created_at = created_at - ?').run(OLDEST * DAY);
    database
      .prepare(
        'update permissions set expires_at = expires_at - ?1, token_expires_at = token_expires_at - ?1',
      )
      .run(NEWEST * DAY);
    const { changes } = database
      .prepare(
        `update audit_entries set created_at = created_at - ?1
           + cast(?2 * (pos & 0xffffffff) / (select count(*) from audit_entries) as integer)`,
      )
      .run(OLDEST * DAY, (OLDEST - NEWEST) * DAY);
    return Number(changes);
  } finally {
    database.close();
  }
}
