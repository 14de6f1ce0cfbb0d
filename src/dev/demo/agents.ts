import { Api } from '../api.ts';
import { DEMO_AGENTS } from './cast.ts';
import type { Actor } from './types.ts';

/** Registers the agents of the demo. */
export async function registerAgents(origin: string, user: Api): Promise<Actor[]> {
  const actors: Actor[] = [];
  for (const role of DEMO_AGENTS) {
    const agent = await user.call<{ id: string; name: string; api_key: string }>('POST', '/v1/agents', {
      name: role.name,
      description: role.description,
      metadata: { team: role.team, made_by: 'npm run demo' },
    });
    actors.push({ role, id: agent.id, name: agent.name, api: new Api(origin, agent.api_key) });
  }
  return actors;
}

/** Rotates the key of an agent and ends the old one immediately. Returns the status that each key is answered then. */
export async function rotateKey(
  origin: string,
  user: Api,
  actor: Actor,
): Promise<{ prefix: string; oldKey: number; newKey: number }> {
  const rotated = await user.call<{ api_key: string; api_key_prefix: string }>(
    'POST',
    `/v1/agents/${actor.id}/rotate-key`,
    { revoke_immediately: true },
  );
  const oldKey = await actor.api.ask('GET', '/v1/permissions?limit=1');
  actor.api = new Api(origin, rotated.api_key);
  const newKey = await actor.api.ask('GET', '/v1/permissions?limit=1');
  return { prefix: rotated.api_key_prefix, oldKey: oldKey.status, newKey: newKey.status };
}
