import { createHash, generateKeyPairSync } from 'node:crypto';
import { appendFileSync, copyFileSync, existsSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
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

/** How many logs are sealed beside a witness, and how often the sweep runs, in milliseconds. */
const WITNESSED_LOGS = 500;
const SWEEP_EACH = 2_000;

/** Answers of a witness; null for none at all. */
const WITNESSES: [name: string, receive: RequestListener | null][] = [
  ['no witness', null],
  ['a witness that fails', (_, answer) => answer.writeHead(500).end()],
  ['a witness that hangs', () => undefined],
];

/** Measures that a witness that fails or hangs delays no sealing. */
export async function measureWitnesses(report: Report, state: string): Promise<void> {
  report.heading(`Sealing of ${WITNESSED_LOGS} witnessed logs`);
  const seconds: number[] = [];
  for (const [name, receive] of WITNESSES) {
    const folder = join(state, name.replaceAll(' ', '-'));
    const { took, asked } = await sealBeside(folder, receive);
    seconds.push(took);
    const [alone = 0] = seconds;
    report.verdict(
      took <= 1.25 * alone + SWEEP_EACH / 1_000 && (receive === null || asked > 0),
      `${name}: ${took.toFixed(1)} s, asked ${asked} times (at most 1.25 times as long, and a sweep more)`,
    );
  }
}

/** Seals logs while a witness receives their heads; returns the seconds until all are sealed. */
async function sealBeside(state: string, receive: RequestListener | null) {
  let asked = 0;
  const witness = createServer((request, answer) => {
    asked += 1;
    receive?.(request, answer);
  });
  await new Promise<void>((resolve) => witness.listen(0, '127.0.0.1', resolve));
  await prepareState(state);
  use(state, (database) => {
    database.exec(LOAD.replace(`value < ${LOGS}`, `value < ${WITNESSED_LOGS}`));
    database.exec('update accounts set is_witnessed = 1; pragma wal_checkpoint(truncate)');
  });
  if (receive !== null)
    appendFileSync(join(state, 'variables.env'), `WITNESSES="${lineOf(witness.address())}"\n`);
  const service = await startService(state);
  try {
    const started = performance.now();
    while (countUnsealed(state) > 0) {
      // A sweep ends only after its witnesses: the next one does not wait for it.
      fireCron(service, EACH_MINUTE).catch(() => undefined);
      for (let waited = 0; waited < SWEEP_EACH && countUnsealed(state) > 0; waited += 100)
        await pause(100);
      if (performance.now() - started > 2_000 * MAX_SECONDS) break;
    }
    const took = (performance.now() - started) / 1_000;
    // The heads are sent after the sealing.
    for (let i = 0; receive !== null && asked === 0 && i < 10; i++) {
      fireCron(service, EACH_MINUTE).catch(() => undefined);
      await pause(1_000);
    }
    return { took, asked };
  } finally {
    await service.kill();
    witness.closeAllConnections();
    witness.close();
  }
}

/** The line of a witness with a new key in the list of the service. */
function lineOf(address: string | AddressInfo | null): string {
  const { publicKey } = generateKeyPairSync('ed25519');
  const { x = '' } = publicKey.export({ format: 'jwk' });
  const key = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url')]);
  const id = createHash('sha256').update('bench.example/w\n').update(key).digest('hex').slice(0, 8);
  const { port } = address as AddressInfo;
  return `witness bench bench.example/w+${id}+${key.toString('base64')} http://127.0.0.1:${port}/`;
}

/** How many logs are not sealed, from a copy of the database: the service has it open. */
function countUnsealed(state: string): number {
  const file = databaseFile(state);
  const copy = join(state, 'copy.sqlite');
  for (const end of ['', '-wal']) if (existsSync(file + end)) copyFileSync(file + end, copy + end);
  try {
    const database = new DatabaseSync(copy);
    const found = database.prepare('select count(*) as n from trees where size < ?').get(ENTRIES);
    database.close();
    return Number(found?.n);
  } catch {
    // The copy was made while the service wrote.
    return WITNESSED_LOGS;
  }
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
