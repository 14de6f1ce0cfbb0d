import { certaintyOf } from '../client.ts';
import type { KnownConnection } from '../memory.ts';
import type { Actor } from './actor.ts';
import { decideAs } from './permissions.ts';

const MOST = 2;
/** How many agents a connection names. */
const AGENTS = 5;
/** Calls are made again among this many of the newest. */
const RECENT = 12;
/** The actions of acts through connections begin with this. */
export const ACTS = 'act.';
const RULES = [
  { methods: ['GET'], effect: 'allow' },
  { paths: ['/auto'], effect: 'ask', action: `${ACTS}auto`, scope: { mark: '{mark}' } },
  { paths: ['/ask'], effect: 'ask', action: `${ACTS}ask`, scope: { mark: '{mark}' } },
];

/** Has an agent act through a connection, or make an earlier call again, some at the same time. */
export async function callConnection(actor: Actor): Promise<void> {
  const { memory, random } = actor;
  const connection = await pickConnection(actor);
  if (!connection) return;
  const recent = memory.calls.slice(-RECENT);
  if (recent.length > 0 && random.chance(0.4)) {
    const call = random.pick(recent);
    const copies = random.chance(0.3) ? 5 : 1;
    await Promise.all(Array.from({ length: copies }, () => make(call)));
    return;
  }
  const agents = connection.agents.filter(({ alive }) => alive === 'yes');
  if (agents.length === 0) return;
  const agent = random.pick(agents);
  if (random.chance(0.1)) {
    await agent.client.ask('GET', `/v1/connections/${connection.id}/proxy/auto`);
    return;
  }
  const mark = memory.newMark();
  const call: KnownCall = {
    connection,
    agent,
    mark,
    path: random.chance(0.7) ? '/auto' : '/ask',
    answers: [],
    ...(random.chance(0.5) && { key: `key-${mark}` }),
  };
  memory.calls.push(call);
  await make(call);
}

type KnownCall = Actor['memory']['calls'][number];

async function make({ connection, agent, path, mark, key, answers }: KnownCall): Promise<void> {
  const address = `/v1/connections/${connection.id}/proxy${path}`;
  const outcome = await agent.client.ask('POST', address, { mark }, key);
  answers.push(outcome?.status ?? null);
}

/** Approves or denies some calls that wait. */
export async function decideCalls(actor: Actor): Promise<void> {
  const { memory, random } = actor;
  type Listed = { id: string; agent_id: string; connection_id: string | null };
  const page = await memory.user.ask<{ data: Listed[] }>(
    'GET',
    '/v1/permissions?status=pending&limit=50',
  );
  const waiting = page?.body.data?.filter(({ connection_id: by }) => by !== null) ?? [];
  for (const { id, agent_id: agentId } of waiting.slice(0, 3)) {
    const agent = memory.agents.find((each) => each.id === agentId);
    if (!agent) continue;
    const permission = {
      ...{ id, agent, status: 'pending', reportsOutcome: true, user: null, reports: [] },
      ...{ series: null, digest: null },
    };
    await decideAs(actor, permission, random.chance(0.8) ? 'approve' : 'deny');
  }
}

/** Changes a connection, switches it off and on, or deletes it. */
export async function changeConnections({ memory, random }: Actor): Promise<void> {
  const alive = memory.connections.filter((connection) => connection.alive === 'yes');
  if (alive.length === 0) return;
  const connection = random.pick(alive);
  const path = `/v1/connections/${connection.id}`;
  if (random.chance(0.5)) {
    await memory.user.ask('PUT', path, { timeout: 5 + random.below(5) });
  } else if (random.chance(0.7)) {
    await memory.user.ask('PUT', path, { is_active: false });
    await memory.user.repeat('PUT', path, { is_active: true });
  } else {
    connection.alive = 'maybe';
    const certainty = certaintyOf(await memory.user.ask('DELETE', path));
    if (certainty === 'done') connection.alive = 'no';
  }
}

/** A connection of the account; makes one, and a policy for it, if there are too few. */
async function pickConnection(actor: Actor): Promise<KnownConnection | null> {
  const { memory, random, standIn } = actor;
  const alive = memory.connections.filter((connection) => connection.alive === 'yes');
  if (alive.length > 0 && (alive.length >= MOST || random.chance(0.9))) return random.pick(alive);
  const agents = memory.agents.filter((agent) => agent.alive === 'yes').slice(-AGENTS);
  if (agents.length === 0) return null;
  const mark = memory.newMark();
  const place = `/${memory.id}/${mark}`;
  const secret = `secret-of-${mark}`;
  await memory.user.insist('POST', '/v1/policies', {
    name: `Acts of ${mark}`,
    effect: 'approve',
    actions: [`${ACTS}auto`],
    resources: ['*'],
  });
  const made = await memory.user.insist<{ id: string }>('POST', '/v1/connections', {
    name: mark,
    base_url: standIn.origin + place,
    auth: { type: 'header' },
    secret,
    rules: RULES,
    agent_ids: agents.map(({ id }) => id),
    wait: 1,
    timeout: 5,
    repeat_after: 86_400,
  });
  if (made?.status !== 201) return null;
  const connection: KnownConnection = { id: made.body.id, place, secret, agents, alive: 'yes' };
  memory.connections.push(connection);
  return connection;
}
