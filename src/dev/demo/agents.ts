import type { Countersign } from '../../client/countersign.ts';
import { ApiError } from '../../client/errors.ts';
import { connect, failureOf } from '../api.ts';
import { DEMO_AGENTS } from './cast.ts';
import type { Actor } from './types.ts';

/** Registers the agents of the demo. */
export async function registerAgents(origin: string, user: Countersign): Promise<Actor[]> {
  const actors: Actor[] = [];
  for (const role of DEMO_AGENTS) {
    const { name, description, team } = role;
    const metadata = { team, made_by: 'npm run demo' };
    const { id, api_key } = await user.createAgent({ name, description, metadata });
    actors.push({ role, id, name, api: connect(origin, api_key) });
  }
  return actors;
}

/**
 * Rotates the key of an agent and ends the old one immediately. Returns the status that each key is
 * answered then.
 */
export async function rotateKey(
  origin: string,
  user: Countersign,
  actor: Actor,
): Promise<{ prefix: string; oldKey: number; newKey: number }> {
  const statusOf = async () => {
    const failure = await failureOf(actor.api.listPermissions({ limit: 1 }));
    return failure instanceof ApiError ? failure.status : 200;
  };
  const { api_key, api_key_prefix: prefix } = await user.rotateAgentKey(actor.id, {
    revoke_immediately: true,
  });
  const oldKey = await statusOf();
  actor.api = connect(origin, api_key);
  return { prefix, oldKey, newKey: await statusOf() };
}
