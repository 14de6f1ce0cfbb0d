import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Random, seededRandom } from '../bench/random.ts';
import { copyProject, DATABASES } from '../support/local/project.ts';
import { Service } from '../support/local/restartable-service.ts';
import { ADMIN_TOKEN, freePort, prepareState } from '../support/local/service.ts';
import { checkAccess, checkGone } from './checks/access.ts';
import { checkBudgets } from './checks/budgets.ts';
import { checkConnections } from './checks/connections.ts';
import { checkEntries } from './checks/entries.ts';
import { checkFiles, checkObjects } from './checks/files.ts';
import { checkLog } from './checks/log.ts';
import { checkOutcomes } from './checks/outcomes.ts';
import { checkIdentities, checkPeople } from './checks/people.ts';
import { missingTools } from './checks/reports.ts';
import { checkRest } from './checks/rest.ts';
import { checkSeries } from './checks/series.ts';
import { checkState } from './checks/state.ts';
import { checkStops, recordStops } from './checks/stops.ts';
import { checkSealed, checkTree } from './checks/tree.ts';
import { checkWebhooks } from './checks/webhooks.ts';
import { Client, type Credential, counts } from './client.ts';
import { type Downloaded, downloadFiles } from './downloads.ts';
import { readEntries } from './entries.ts';
import { Findings } from './findings.ts';
import { joinApprover } from './giver.ts';
import type { Actor } from './load/actor.ts';
import { createAgent, endLog } from './load/agents.ts';
import { orderReport } from './load/files.ts';
import { deleteAccount, moveAccounts, stay } from './load/operator.ts';
import { People } from './load/people.ts';
import { act } from './load.ts';
import { type KnownGiver, Memory, type ShownEntry, type Traits } from './memory.ts';
import { agePast, makePast } from './past.ts';
import { Receiver } from './receiver.ts';
import { settle } from './settling.ts';
import { SignOn } from './sign-on.ts';
import { StandIn } from './stand-in.ts';
import { Stored } from './stored.ts';

const LASTING = {
  plan: 'enterprise',
  losesAgents: false,
  endsEmpty: false,
  changesPlan: false,
  isOld: false,
};
const ACCOUNTS: Traits[] = [
  { ...LASTING, name: 'steady' },
  { ...LASTING, name: 'moody', plan: 'pro', changesPlan: true },
  { ...LASTING, name: 'mortal', losesAgents: true },
  { ...LASTING, name: 'emptied', losesAgents: true, endsEmpty: true },
  { ...LASTING, name: 'old', losesAgents: true, isOld: true },
];
/** The account of a person who signs in with the identity provider. */
const EMPLOYEE: Traits = { ...LASTING, name: 'employee' };
const ACTORS_OF_EACH = 3;
const FIRST_AGENTS = 4;
/** How many short-lived accounts are under load at the same time. */
const GUESTS = 2;
/** How long the service runs between two kills, in milliseconds. */
const [SHORTEST_LIFE, LONGEST_LIFE] = [1_000, 20_000];
/**
 * Longer than the shortest request stays pending and the shortest token is valid, in milliseconds.
 */
const SHORTEST_WAIT = 65_000;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string' },
    keep: { type: 'boolean' },
  },
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32));
const started = Date.now();
const tell = (text: string) =>
  console.log(`[${((Date.now() - started) / 1_000).toFixed(0)} s] ${text}`);

const folder = mkdtempSync(join(tmpdir(), 'countersign-chaos-'));
const state = copyProject(folder);
await prepareState(state, DATABASES, folder);
recordStops(state);
const signOn = await SignOn.start();
appendFileSync(join(state, 'variables.env'), signOn.variables);
const service = new Service(state, await freePort(), folder);
const receiver = await Receiver.start(seededRandom(seed + 1));
const standIn = await StandIn.start(seededRandom(seed + 2));
const operator = new Client(service, ADMIN_TOKEN);
const findings = new Findings();
const people = new People(signOn, clientOf);
let moves = 0;
process.once('SIGINT', async () => {
  await service.kill();
  process.exit(130);
});

try {
  tell(`seed ${seed}, ${values.minutes} minutes, data in ${folder}`);
  await service.start();
  const actors = await prepareActors();
  await runLoad(actors, Number(values.minutes) * 60_000);
  await judge([...new Set(actors.map(({ memory }) => memory))]);
} finally {
  await service.kill();
  receiver.stop();
  standIn.stop();
  signOn.stop();
}
const clean = findings.count === 0;
console.log(
  clean
    ? `Nothing differs (${findings.compared} comparisons).`
    : `Differences:\n  ${findings.describe()}`,
);
if (clean && !values.keep) rmSync(folder, { recursive: true });
else console.log(`seed ${seed}; the data is in ${folder}`);
process.exitCode = clean ? 0 : 1;

/** Creates the accounts, and the old entries of the account that has some. */
async function prepareActors(): Promise<Actor[]> {
  const actors: Actor[] = [];
  for (const [i, traits] of [...ACCOUNTS, EMPLOYEE].entries()) {
    const memory = await (traits === EMPLOYEE ? enterEmployee() : createAccount(traits));
    if (!memory) throw new Error('an account could not be created');
    memory.giver = await findGiver(memory);
    for (let n = 0; n < ACTORS_OF_EACH; n++)
      actors.push(actorOf(memory, seededRandom(seed + 100 * (i + 1) + n)));
    for (let n = 0; n < FIRST_AGENTS; n++) await createAgent(memory, { clientOf });
  }
  for (const actor of actors.filter(
    ({ memory }, i) => memory.traits.isOld && i % ACTORS_OF_EACH === 0,
  )) {
    const { memory } = actor;
    await makePast(actor);
    await service.stop();
    const aged = agePast(state);
    memory.oldAgents = new Set(memory.agents.map(({ id }) => id));
    await service.start();
    memory.past = await readEntries(memory);
    if (memory.past.length !== aged)
      throw new Error(`the API shows ${memory.past.length} of ${aged} old entries`);
  }
  return actors;
}

/** The owner of the account of an employee, or else an approver who joins. */
async function findGiver(memory: Memory): Promise<KnownGiver> {
  if (memory.traits === EMPLOYEE) return { client: memory.user, members: null };
  const giver = await joinApprover(memory, service.origin, 'approver');
  const { id: other } = await joinApprover(memory, service.origin, 'colleague');
  return { client: clientOf(giver.token), members: { own: giver.id, other } };
}

/** Creates an account; null if no answer came, so that it is unknown whether the account exists. */
async function createAccount(traits: Traits): Promise<Memory | null> {
  const body = { email: `${traits.name}@example.com`, plan: traits.plan };
  type Created = { id: string; token: { token: string } };
  const outcome = await operator.insist<Created>('POST', '/v1/admin/users', body);
  if (outcome?.status !== 201) return null;
  const { id, token } = outcome.body;
  return new Memory(traits, id, token.token, clientOf(token.token));
}

/**
 * Signs in a new person, and has the operator give their account a bigger plan and a user token.
 */
async function enterEmployee(): Promise<Memory | null> {
  const person = people.newcomer();
  await people.enter(person);
  const [id] = person.accounts;
  if (!id) return null;
  const path = `/v1/admin/users/${id}`;
  await operator.repeat('PATCH', path, { plan: EMPLOYEE.plan });
  const made = await operator.insist<{ token: string }>('POST', `${path}/tokens`, {});
  return made?.status === 201 ? new Memory(EMPLOYEE, id, made.body.token, person.client) : null;
}

function clientOf(credential: Credential): Client {
  return new Client(service, credential);
}

function actorOf(memory: Memory, random: Random): Actor {
  return { memory, random, receiver, standIn, operator, clientOf };
}

/**
 * Creates accounts until the signal, puts each under load for a while, and deletes most of them.
 */
async function hostGuests(actors: Actor[], random: Random, signal: AbortSignal): Promise<void> {
  for (let n = 1; !signal.aborted; n++) {
    const name = `guest-${random.below(2 ** 32)}-${n}`;
    const traits = { ...LASTING, name, losesAgents: true };
    const memory = await createAccount(traits);
    if (!memory) continue;
    const actor = actorOf(memory, random);
    actors.push(actor);
    await act(actor, AbortSignal.any([signal, AbortSignal.timeout(stay(random))]));
    await deleteAccount(actor);
  }
}

/** Runs all actors while the service is repeatedly killed and started. */
async function runLoad(actors: Actor[], duration: number): Promise<void> {
  const ending = new AbortController();
  const began = Date.now();
  for (const { memory } of actors) memory.beganAt = began;
  const acting = actors.map((actor) =>
    act(actor, ending.signal).catch((error: Error) => findings.differ('load', `${error.stack}`)),
  );
  const guests = Array.from({ length: GUESTS }, (_, i) =>
    hostGuests(actors, seededRandom(seed + 10_000 + i), ending.signal).catch((error: Error) =>
      findings.differ('load', `${error.stack}`),
    ),
  );
  const residents = actors.map(({ memory }) => memory);
  const moving = moveAccounts(folder, residents, seededRandom(seed + 20_000), ending.signal);
  const signingIn = [
    people.come(seededRandom(seed + 30_000), ending.signal),
    people.changeKeys(seededRandom(seed + 40_000), ending.signal),
  ];
  const random = seededRandom(seed);
  service.beginCrons();
  while (Date.now() < began + duration) {
    await sleep(SHORTEST_LIFE + random.below(LONGEST_LIFE - SHORTEST_LIFE));
    await service.kill();
    await service.start();
    service.beginCrons();
  }
  ending.abort();
  await Promise.all([...acting, ...guests, ...signingIn]);
  moves = await moving;
  for (const memory of new Set(actors.map((actor) => actor.memory))) await endLog(memory);
  // Makes sure that every account has a PDF report to compare.
  for (const actor of actors) if (actor.memory.alive === 'yes') await orderReport(actor, 'pdf');
  tell(
    `load ended: ${counts.requests} requests, ${counts.lost} lost, ${service.kills} kills, ${moves} moves; settling`,
  );
}

async function judge(all: Memory[]): Promise<void> {
  await sleep(SHORTEST_WAIT);
  demand(await settle(service, state, all, operator));
  const present = await read((stored) => new Set(stored.accounts()));
  for (const { id, alive, traits } of all) {
    const isRight = alive === 'maybe' || present.has(id) === (alive === 'yes');
    findings.check(
      isRight,
      'accounts',
      () => `${traits.name} ${present.has(id) ? 'exists' : 'does not exist'} (alive: ${alive})`,
    );
  }
  const [memories, gone] = [
    all.filter(({ id }) => present.has(id)),
    all.filter(({ id }) => !present.has(id)),
  ];
  const checkpoints = await read(
    (stored) => new Map(memories.map(({ id }) => [id, stored.checkpoints(id)])),
  );
  await service.start();
  const downloads = new Map<Memory, Downloaded[]>();
  const shown = new Map<Memory, ShownEntry[]>();
  for (const memory of memories) {
    shown.set(memory, await readEntries(memory));
    downloads.set(memory, await downloadFiles(findings, memory, service, state));
    await checkTree(findings, memory, service, checkpoints.get(memory.id) ?? [], state);
    await checkAccess(findings, memory);
  }
  for (const memory of gone) await checkGone(findings, memory);
  for (const event of ['request', 'approve', 'deny', 'revoke']) {
    const steps = all.flatMap((memory) => [...memory.steps.values()]);
    findings.check(
      steps.some((step) => step.event === event && step.certainty === 'done'),
      'load',
      () => `no ${event} succeeded, so nothing was tried`,
    );
  }
  await checkPeople(findings, people);
  tell('downloaded files, verified trees, signed in everybody');
  demand(await settle(service, state, memories, operator));
  await read(async (stored) => {
    const accounts = memories.map(({ id }) => stored.account(id));
    let compared = 0;
    let acts = 0;
    for (const [i, memory] of memories.entries()) {
      const account = accounts[i] as (typeof accounts)[number];
      const entries = shown.get(memory) ?? [];
      checkLog(findings, memory, account);
      checkState(findings, memory, account);
      checkOutcomes(findings, memory, account);
      checkBudgets(findings, memory, account);
      acts += checkSeries(findings, memory, account);
      checkStops(findings, stored, memory, account);
      checkSealed(findings, account);
      checkEntries(findings, memory, account, entries);
      checkWebhooks(findings, memory, account, entries, receiver);
      compared += await checkFiles(findings, memory, account, entries, downloads.get(memory) ?? []);
    }
    const sent = checkConnections(findings, all, accounts, standIn);
    checkObjects(findings, stored, accounts, gone);
    checkIdentities(findings, stored, people);
    checkRest(findings, stored);
    const sum = (count: (account: (typeof accounts)[number]) => number) =>
      accounts.reduce((total, account) => total + count(account), 0);
    const files = [...downloads.values()].flat();
    const missing = missingTools();
    if (missing.length > 0)
      tell(`PDF reports are not compared: ${missing.join(', ')} not installed`);
    tell(
      [
        `${counts.requests} requests (${counts.refused} refused, ${counts.lost} lost, ${counts.replays} replayed)`,
        `${service.kills} kills, ${moves} moves, ${stored.count('select count(*) from _stops')} stops and resumes`,
        `${memories.length} accounts, ${gone.length} deleted`,
        `${sum(({ entries }) => entries.length)} entries, ${sum(({ erased }) => erased.length)} records of erasures`,
        `${memories.reduce((total, { files }) => total + files.length, 0)} files requested, ${files.length} downloaded, ${compared} compared`,
        `${sum(({ series }) => series.length)} series approved ${acts} acts`,
        `${sent} acts through connections, ${standIn.arrivals.length} requests of them`,
        `${people.all.length} people signed in with ${signOn.rotations} keys`,
        `${receiver.count} messages (${receiver.failures} failed on purpose)`,
        `${[...checkpoints.values()].flat().length} checkpoints in the bucket, ${memories.reduce((n, m) => n + m.checkpoints.size, 0)} shown`,
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
