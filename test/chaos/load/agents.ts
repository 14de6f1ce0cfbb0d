import { certaintyOf } from '../client.ts';
import type { KnownAgent, Memory } from '../memory.ts';
import type { Actor } from './actor.ts';

const FEWEST = 3;
const MOST = 8;

/** An agent is made, or deleted where the account loses agents, or gets another key. */
export async function changeAgents(actor: Actor): Promise<void> {
  const { memory, random } = actor;
  const alive = memory.agents.filter(({ alive }) => alive === 'yes');
  if (alive.length < FEWEST) return createAgent(memory, actor);
  const agent = random.pick(alive);
  if (memory.traits.losesAgents && random.chance(0.4)) return deleteAgent(memory, agent);
  if (alive.length < MOST && random.chance(0.5)) return createAgent(memory, actor);
  if (random.chance(0.6)) return rotateKey(actor, agent);
  await memory.user.ask('PUT', `/v1/agents/${agent.id}`, { description: memory.newMark() });
}

/** An agent gets another key, which it goes on with; the old one lives on for a day, or dies. */
async function rotateKey({ memory, random, clientOf }: Actor, agent: KnownAgent): Promise<void> {
  const isAtOnce = random.chance(0.5);
  const body = isAtOnce ? { revoke_immediately: true } : { grace_period: 86_400 };
  const outcome = await memory.user.insist<{ api_key: string }>('POST', `/v1/agents/${agent.id}/rotate-key`, body);
  if (outcome === null) agent.isLockedOut = true;
  if (outcome?.status !== 200) return;
  // Another rotation of the same agent may have come between: then nobody knows which key is the newest.
  if (isAtOnce) agent.revoked.push(agent.client);
  agent.client = clientOf(outcome.body.api_key);
}

/** Makes an agent that is known. */
export async function createAgent(memory: Memory, { clientOf }: Pick<Actor, 'clientOf'>): Promise<void> {
  const body = { name: `Agent of ${memory.traits.name}` };
  const outcome = await memory.user.insist<{ id: string; api_key: string }>('POST', '/v1/agents', body);
  if (outcome?.status !== 201) return;
  const { id, api_key } = outcome.body;
  memory.agents.push({ id, client: clientOf(api_key), alive: 'yes', revoked: [], isLockedOut: false });
}

async function deleteAgent(memory: Memory, agent: KnownAgent): Promise<void> {
  agent.alive = 'maybe';
  const certainty = certaintyOf(await memory.user.ask('DELETE', `/v1/agents/${agent.id}`));
  if (certainty === 'done') agent.alive = 'no';
}
