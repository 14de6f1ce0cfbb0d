import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Random, seededRandom } from '../bench/random.ts';
import { ADMIN_TOKEN, freePort, prepareState } from '../bench/service.ts';
import { checkExports, checkObjects } from './checks/files.ts';
import { checkLog } from './checks/log.ts';
import { checkRest } from './checks/rest.ts';
import { checkState } from './checks/state.ts';
import { checkSealed, checkTree } from './checks/tree.ts';
import { checkWebhooks } from './checks/webhooks.ts';
import { Client, counts } from './client.ts';
import { type Downloaded, downloadFiles } from './downloads.ts';
import { Findings } from './findings.ts';
import type { Actor } from './load/actor.ts';
import { createAgent } from './load/agents.ts';
import { act } from './load.ts';
import { Memory, type Traits } from './memory.ts';
import { agePast, makePast } from './past.ts';
import { Receiver } from './receiver.ts';
import { Service } from './service.ts';
import { settle } from './settling.ts';
import { Stored } from './stored.ts';

const ACCOUNTS: Traits[] = [
  { name: 'steady', plan: 'enterprise', losesAgents: false, changesPlan: false, isOld: false },
  { name: 'moody', plan: 'pro', losesAgents: false, changesPlan: true, isOld: false },
  { name: 'mortal', plan: 'enterprise', losesAgents: true, changesPlan: false, isOld: false },
  { name: 'old', plan: 'enterprise', losesAgents: true, changesPlan: false, isOld: true },
];
const ACTORS_OF_EACH = 3;
const FIRST_AGENTS = 4;
/** Between two kills, in milliseconds. */
const [SHORTEST_LIFE, LONGEST_LIFE] = [1_000, 20_000];
/** Longer than the shortest request waits, and a token lives. */
const SHORTEST_WAIT = 65_000;

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string' }, keep: { type: 'boolean' } },
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32));
const started = Date.now();
const tell = (text: string) => console.log(`[${((Date.now() - started) / 1_000).toFixed(0)} s] ${text}`);

const state = mkdtempSync(join(tmpdir(), 'countersign-chaos-'));
await prepareState(state);
const service = new Service(state, await freePort());
const receiver = await Receiver.start(seededRandom(seed + 1));
const operator = new Client(service, ADMIN_TOKEN);
const findings = new Findings();
process.once('SIGINT', async () => {
  await service.kill();
  process.exit(130);
});

try {
  tell(`seed ${seed}, ${values.minutes} minutes, data in ${state}`);
  await service.start();
  const actors = await prepareActors();
  await runLoad(actors, Number(values.minutes) * 60_000);
  const memories = [...new Set(actors.map(({ memory }) => memory))];
  await judge(memories);
} finally {
  await service.kill();
  receiver.stop();
}
const clean = findings.count === 0;
console.log(clean ? `Nothing differs (${findings.compared} comparisons).` : `Differences:\n  ${findings.describe()}`);
if (clean && !values.keep) rmSync(state, { recursive: true });
else console.log(`seed ${seed}; the data is in ${state}`);
process.exitCode = clean ? 0 : 1;

/** Makes the accounts, and the past of the one that has one. */
async function prepareActors(): Promise<Actor[]> {
  const actors: Actor[] = [];
  for (const [i, traits] of ACCOUNTS.entries()) {
    const memory = await createAccount(traits);
    const clientOf = (credential: string) => new Client(service, credential);
    for (let n = 0; n < ACTORS_OF_EACH; n++) {
      const random: Random = seededRandom(seed + 100 * (i + 1) + n);
      actors.push({ memory, random, receiver, operator, clientOf });
    }
    for (let n = 0; n < FIRST_AGENTS; n++) await createAgent(memory, { clientOf });
  }
  for (const actor of actors.filter(({ memory }, i) => memory.traits.isOld && i % ACTORS_OF_EACH === 0)) {
    const { memory } = actor;
    await makePast(actor);
    await service.stop();
    memory.pastEntries = agePast(state);
    memory.oldAgents = new Set(memory.agents.map(({ id }) => id));
    await service.start();
  }
  return actors;
}

async function createAccount(traits: Traits): Promise<Memory> {
  const body = { email: `${traits.name}@example.com`, plan: traits.plan };
  const account = await operator.ask<{ id: string }>('POST', '/v1/admin/users', body);
  const id = account?.body.id ?? '';
  const issued = await operator.ask<{ token: string }>('POST', `/v1/admin/users/${id}/tokens`, {});
  if (!issued) throw new Error('an account could not be made');
  return new Memory(traits, id, issued.body.token, new Client(service, issued.body.token));
}

/** Everybody acts while the service is killed again and again. */
async function runLoad(actors: Actor[], duration: number): Promise<void> {
  const ending = new AbortController();
  const began = Date.now();
  for (const { memory } of actors) memory.beganAt = began;
  const acting = actors.map((actor) =>
    act(actor, ending.signal).catch((error: Error) => findings.differ('load', `${error.stack}`)),
  );
  const random = seededRandom(seed);
  service.beginCrons();
  while (Date.now() < began + duration) {
    await sleep(SHORTEST_LIFE + random.below(LONGEST_LIFE - SHORTEST_LIFE));
    await service.kill();
    await service.start();
    service.beginCrons();
  }
  ending.abort();
  await Promise.all(acting);
  tell(`load ended: ${counts.requests} requests, ${counts.lost} lost, ${service.kills} kills; settling`);
}

async function judge(memories: Memory[]): Promise<void> {
  await sleep(SHORTEST_WAIT);
  demand(await settle(service, state, memories, operator));
  const checkpoints = await read((stored) => new Map(memories.map(({ id }) => [id, stored.checkpoints(id)])));
  await service.start();
  const downloads = new Map<Memory, Downloaded[]>();
  for (const memory of memories) {
    downloads.set(memory, await downloadFiles(findings, memory, service, state));
    await checkTree(findings, memory, service, checkpoints.get(memory.id) ?? [], state);
  }
  tell('files downloaded, trees verified');
  demand(await settle(service, state, memories, operator));
  await read(async (stored) => {
    const accounts = memories.map(({ id }) => stored.account(id));
    for (const [i, memory] of memories.entries()) {
      const account = accounts[i] as (typeof accounts)[number];
      checkLog(findings, memory, account);
      checkState(findings, memory, account, stored);
      checkSealed(findings, account);
      checkWebhooks(findings, memory, account, receiver);
      await checkExports(findings, memory, account, downloads.get(memory) ?? []);
    }
    checkObjects(findings, stored, accounts);
    checkRest(findings, stored);
    const sum = (count: (account: (typeof accounts)[number]) => number) =>
      accounts.reduce((total, account) => total + count(account), 0);
    const files = [...downloads.values()].flat();
    tell(
      [
        `${counts.requests} requests (${counts.refused} refused, ${counts.lost} lost, ${counts.replays} replayed)`,
        `${service.kills} kills`,
        `${sum(({ entries }) => entries.length)} entries, ${sum(({ erased }) => erased.length)} records of erasures`,
        `${memories.reduce((total, { files }) => total + files.length, 0)} files asked for, ${files.length} downloaded`,
        `${receiver.count} messages (${receiver.failures} failed on purpose)`,
        `${[...checkpoints.values()].flat().length} checkpoints kept, ${memories.reduce((n, m) => n + m.checkpoints.size, 0)} seen`,
      ].join('; '),
    );
  });
}

function demand(due: string[]): void {
  for (const what of due) findings.differ('never done', what);
}

async function read<T>(look: (stored: Stored) => T | Promise<T>): Promise<T> {
  const stored = new Stored(state);
  try {
    return await look(stored);
  } finally {
    stored.close();
  }
}
