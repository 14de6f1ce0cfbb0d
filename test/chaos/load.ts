import { setTimeout as sleep } from 'node:timers/promises';
import { changeAccount, read, stopForAMoment } from './load/account.ts';
import type { Actor } from './load/actor.ts';
import { changeAgents } from './load/agents.ts';
import { callConnection, changeConnections, decideCalls } from './load/connections.ts';
import { orderFile } from './load/files.ts';
import { decide, reportOutcome, request, revoke, useToken } from './load/permissions.ts';
import { changePolicies } from './load/policies.ts';
import { actBySeries, askForSeries, endSeries } from './load/series.ts';
import { changeWebhooks } from './load/webhooks.ts';

type Action = (actor: Actor) => Promise<void>;

/** The actions with their weights. */
const ACTIONS: [weight: number, action: Action][] = [
  [30, request],
  [24, decide],
  [26, useToken],
  [12, reportOutcome],
  [6, askForSeries],
  [16, actBySeries],
  [2, endSeries],
  [20, callConnection],
  [6, decideCalls],
  [1, changeConnections],
  [6, revoke],
  [4, changeAgents],
  [1, changePolicies],
  [5, changeWebhooks],
  [3, orderFile],
  [1, changeAccount],
  [1, stopForAMoment],
  [5, read],
];
/** Each action as many times as its weight. */
const WEIGHTED = ACTIONS.flatMap(([weight, action]) =>
  Array.from({ length: weight }, () => action),
);

/** Runs random actions one after the other until the signal. */
export async function act(actor: Actor, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await actor.random.pick(WEIGHTED)(actor);
    await sleep(actor.random.below(150));
  }
}
