import { setTimeout as sleep } from 'node:timers/promises';
import { changeAccount, read } from './load/account.ts';
import type { Actor } from './load/actor.ts';
import { changeAgents } from './load/agents.ts';
import { orderFile } from './load/files.ts';
import { decide, request, revoke, useToken } from './load/permissions.ts';
import { changePolicies } from './load/policies.ts';
import { changeWebhooks } from './load/webhooks.ts';

type Deed = (actor: Actor) => Promise<void>;

/** What is done, and how often of the sum of these. */
const DEEDS: [number, Deed][] = [
  [30, request],
  [24, decide],
  [26, useToken],
  [6, revoke],
  [4, changeAgents],
  [1, changePolicies],
  [5, changeWebhooks],
  [3, orderFile],
  [1, changeAccount],
  [5, read],
];
/** Each as often as it is done. */
const DRAWN = DEEDS.flatMap(([share, deed]) => Array.from({ length: share }, () => deed));

/** Does one thing after the other until the signal. */
export async function act(actor: Actor, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await actor.random.pick(DRAWN)(actor);
    await sleep(actor.random.below(150));
  }
}
