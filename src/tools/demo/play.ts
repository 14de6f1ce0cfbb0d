import type { Permission } from '../../packages/client/api.ts';
import type { Countersign } from '../../packages/client/countersign.ts';
import { connect } from '../api.ts';
import { type Answer, type Ask, ROUNDS, SCENES, type Scene } from './scenes.ts';

/** A registered agent of the demo. */
export interface Actor {
  id: string;
  name: string;
  /** A client with the agent's key. */
  api: Countersign;
  key: string;
  asks: Ask[];
}

/** An agent's request, and what became of it. */
export interface PlayedRequest {
  actor: Actor;
  /** As the agent read it before it used the token. */
  permission: Permission;
  outcome: 'approved' | 'narrowed' | 'denied' | 'waiting';
  /** How often the agent used its token, and how often it still can. */
  uses: number;
  usesLeft: number;
}

/** Registers the agent of a scene. */
async function registerAgent(origin: string, user: Countersign, scene: Scene): Promise<Actor> {
  const { name, description, team, asks } = scene;
  const metadata = { team, made_by: 'npm run demo' };
  const { id, api_key } = await user.createAgent({ name, description, metadata });
  return { id, name, api: connect(origin, api_key), key: api_key, asks };
}

/** Registers the agents of all scenes, in their order. */
export async function registerAgents(origin: string, user: Countersign): Promise<Actor[]> {
  const actors: Actor[] = [];
  for (const scene of SCENES) actors.push(await registerAgent(origin, user, scene));
  return actors;
}

/**
 * Has an agent ask for everything in its scene. The user decides each request, and the agent uses
 * its token: in the first round once, later as often as it can.
 */
export async function playScene(user: Countersign, actor: Actor): Promise<PlayedRequest[]> {
  const requests: PlayedRequest[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const ask of actor.asks) requests.push(await playRequest(user, actor, ask, round));
  }
  return requests;
}

async function playRequest(
  user: Countersign,
  actor: Actor,
  ask: Ask,
  round: number,
): Promise<PlayedRequest> {
  const { action, scope, reason } = ask;
  const resource = pick(ask.resources, round);
  const preview = { title: reason, fields: [{ label: 'Resource', value: resource }] };
  const asked = { action, resource, scope, reason, preview, max_uses: ask.uses };
  const { id } = await actor.api.requestPermission(asked);
  const answer = pick(ask.answers, round);
  await decide(user, id, answer);
  const permission = await actor.api.getPermission(id);
  const outcome = answer?.decision ?? 'waiting';
  const request: PlayedRequest = { actor, permission, outcome, uses: 0, usesLeft: 0 };
  const token = permission.token?.value;
  if (!token) return request;
  const times = round === 0 ? 1 : ask.uses;
  while (request.uses < times) {
    const used = await actor.api.useToken({ token, action, resource });
    request.uses++;
    request.usesLeft = used.remaining_uses;
  }
  return request;
}

async function decide(user: Countersign, id: string, answer: Answer): Promise<void> {
  if (!answer) return;
  const { decision, ...fields } = answer;
  if (decision === 'denied') await user.denyPermission(id, { reason: answer.reason });
  else await user.approvePermission(id, fields);
}

function pick<T>(choices: T[], round: number): T {
  return choices[round % choices.length] as T;
}
