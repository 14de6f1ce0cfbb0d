import { certaintyOf } from '../client.ts';
import type { KnownAgent, Memory } from '../memory.ts';
import type { Actor } from './actor.ts';

const FEWEST = 3;
const MOST = 8;

/** Creates or updates an agent, rotates its key, or deletes it if the account loses agents. */
export async function changeAgents(actor: Actor): Promise<void> {
  const { memory, random } = actor;
  const alive = memory.agents.filter(({ alive }) => alive === 'yes');
  if (alive.length < FEWEST) return createAgent(memory, actor);
  const agent = random.pick(alive);
  if (memory.traits.losesAgents && random.chance(0.4)) {
    const doomed = random.chance(0.5) ? newestAgent(memory) : null;
    return deleteAgent(memory, doomed ?? agent);
  }
  if (alive.length < MOST && random.chance(0.5)) return createAgent(memory, actor);
  if (random.chance(0.6)) return rotateKey(actor, agent);
  await memory.user.ask('PUT', `/v1/agents/${agent.id}`, { description: memory.newMark() });
}

/**
 * Rotates the key of an agent, with a grace period of a day or none; the agent uses the new key
 * afterwards.
 */
async function rotateKey({ memory, random, clientOf }: Actor, agent: KnownAgent): Promise<void> {
  const isAtOnce = random.chance(0.5);
  const body = isAtOnce ? { revoke_immediately: true } : { grace_period: 86_400 };
  const outcome = await memory.user.insist<{ api_key: string }>(
    'POST',
    `/v1/agents/${agent.id}/rotate-key`,
    body,
  );
  if (outcome === null) agent.isLockedOut = true;
  if (outcome?.status !== 200) return;
  // Replaces whichever key the agent uses now, which may come from a concurrent rotation.
  if (isAtOnce) agent.revoked.push(agent.client);
  agent.client = clientOf(outcome.body.api_key);
}

/** Creates an agent and remembers it. */
export async function createAgent(
  memory: Memory,
  { clientOf }: Pick<Actor, 'clientOf'>,
): Promise<void> {
  const body = { name: `Agent of ${memory.traits.name}` };
  const outcome = await memory.user.insist<{ id: string; api_key: string }>(
    'POST',
    '/v1/agents',
    body,
  );
  if (outcome?.status !== 201) return;
  const { id, api_key } = outcome.body;
  memory.agents.push({
    id,
    client: clientOf(api_key),
    alive: 'yes',
    revoked: [],
    isLockedOut: false,
  });
}

/**
 * Deletes the agent that asked last, or every agent, so that the log ends with erased entries or
 * has none left. Does nothing where an account keeps its agents.
 */
export async function endLog(memory: Memory): Promise<void> {
  const { losesAgents, endsEmpty } = memory.traits;
  if (!losesAgents || memory.alive !== 'yes') return;
  const newest = newestAgent(memory);
  const doomed = endsEmpty ? memory.agents.filter(({ alive }) => alive !== 'no') : [newest];
  for (const agent of doomed) if (agent) await deleteAgent(memory, agent);
}

/** The agent with the newest step that the account knows to be done; null without agents. */
function newestAgent({ agents, steps }: Memory): KnownAgent | null {
  const alive = agents.filter((agent) => agent.alive === 'yes');
  const newest = [...steps.values()].findLast(
    ({ certainty, agent }) => certainty === 'done' && agent.alive === 'yes',
  );
  return newest?.agent ?? alive.at(-1) ?? null;
}

async function deleteAgent(memory: Memory, agent: KnownAgent): Promise<void> {
  agent.alive = 'maybe';
  const certainty = certaintyOf(await memory.user.ask('DELETE', `/v1/agents/${agent.id}`));
  if (certainty === 'done') agent.alive = 'no';
}
