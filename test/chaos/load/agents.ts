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
  const path = `/v1/agents/${agent.id}`;
  // The old key lives on, so that an answer that is lost locks nobody out.
  if (random.chance(0.5)) await memory.user.ask('POST', `${path}/rotate-key`, { grace_period: 86_400 });
  else await memory.user.ask('PUT', path, { description: memory.newMark() });
}

/** Makes an agent that is known. */
export async function createAgent(memory: Memory, { clientOf }: Pick<Actor, 'clientOf'>): Promise<void> {
  const body = { name: `Agent of ${memory.traits.name}` };
  const outcome = await memory.user.insist<{ id: string; api_key: string }>('POST', '/v1/agents', body);
  if (outcome?.status !== 201) return;
  const { id, api_key } = outcome.body;
  memory.agents.push({ id, client: clientOf(api_key), alive: 'yes' });
}

async function deleteAgent(memory: Memory, agent: KnownAgent): Promise<void> {
  agent.alive = 'maybe';
  const certainty = certaintyOf(await memory.user.ask('DELETE', `/v1/agents/${agent.id}`));
  if (certainty === 'done') agent.alive = 'no';
}
