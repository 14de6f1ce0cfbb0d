import { DatabaseSync } from 'node:sqlite';
import { databaseFile, fireCron, prepareState, startService } from '../support/local/service.ts';
import type { Report } from './report.ts';

const LOGS = 5_000;
const ENTRIES = 3;
const LOG_SPAN = 2 ** 32;
/** The documented limit for sealing an entry, in seconds. */
const MAX_SECONDS = 120;
/** A shorter sweep, in seconds, found nothing to seal. */
const MIN_RUN = 2;
const EACH_MINUTE = '* * * * *';

/** Measures the sealing of many logs that grew in the same minute, including their first heads. */
export async function measureSealing(report: Report, state: string): Promise<void> {
  report.heading(`Sealing of ${LOGS} logs with ${ENTRIES} new entries each`);
  await prepareState(state);
  use(state, (database) => database.exec(LOAD));
  const seconds = await sealAll(state);
  const left = use(state, (database) => {
    const found = database.prepare('select count(*) as n from trees where size < ?').get(ENTRIES);
    return Number(found?.n);
  });
  report.verdict(
    left === 0 && seconds <= MAX_SECONDS,
    `sealed in ${seconds.toFixed(0)} s, ${left} logs not sealed (at most ${MAX_SECONDS} s)`,
  );
}

/** Runs the sweep until it finds nothing to seal; returns the duration in seconds. */
async function sealAll(state: string): Promise<number> {
  const service = await startService(state);
  let seconds = 0;
  try {
    for (let run = MIN_RUN; run >= MIN_RUN && seconds < 2 * MAX_SECONDS; seconds += run) {
      const started = performance.now();
      await fireCron(service, EACH_MINUTE);
      run = (performance.now() - started) / 1_000;
    }
  } finally {
    await service.stop();
  }
  return seconds;
}

/**
 * SQL that adds the accounts and their entries. Account ids contain the creation time, which no
 * entry may precede.
 */
const LOAD = `
  create temp table n as with recursive n(value) as (select 1 union all select value + 1 from n where value < ${LOGS})
    select value from n;
  insert into accounts (number, id, email, plan, is_active, created_at, updated_at)
    select value, unhex('000000000000' || hex(randomblob(10))), 'many@example.com', 0, 1, 0, 0 from n;
  insert into agents (number, account, id, name, key_prefix, metadata, is_active, created_at, updated_at)
    select value, value, randomblob(16), 'one of many', 'csa_0000', '{}', 1, 0, 0 from n;
  insert into audit_entries (pos, agent, permission, event, action, created_at, ip_address, user_agent, details, random)
    select n.value * ${LOG_SPAN} + entries.value, n.value, randomblob(16), 0, 'email.send', 0, '::1', 'bench',
      '{"resource":"mailbox:support"}', randomblob(22)
    from n, (select value from n where value <= ${ENTRIES}) as entries;
  insert into trees (account, due_at, counted) select value, 0, ${ENTRIES} from n;
  pragma wal_checkpoint(truncate)`;

function use<T>(state: string, work: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(databaseFile(state));
  try {
    return work(database);
  } finally {
    database.close();
  }
}
