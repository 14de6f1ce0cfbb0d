import { type Random, zipf } from './random.ts';

/** Event types, in the order of their codes in the database. */
export const EVENTS = ['request', 'approve', 'deny', 'use', 'expire', 'revoke'] as const;

const REQUEST = 0;
const APPROVE = 1;
const DENY = 2;
const USE = 3;
const EXPIRE = 4;
const REVOKE = 5;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const TOKEN_TTL = 15 * MINUTE;

/**
 * The history of an account: its permissions and the entries of its audit log, as compact arrays.
 */
export interface History {
  actions: readonly string[];
  /** Arrays by permission. */
  agent: Uint16Array;
  action: Uint16Array;
  requestedAt: Float64Array;
  /** Milliseconds from the request to its expiry. */
  expiresIn: Float64Array;
  maxUses: Uint16Array;
  /** Arrays by entry; the entry with sequence n is at index n - 1. */
  time: Float64Array;
  permission: Uint32Array;
  event: Uint8Array;
  /** Whether the entry was erased. */
  erased: Uint8Array;
}

export interface HistoryPlan {
  entries: number;
  agents: number;
  actions: readonly string[];
  /** Milliseconds since the epoch. */
  from: number;
  to: number;
}

interface Life {
  maxUses: number;
  expiresIn: number;
  events: { event: number; time: number }[];
}

/**
 * Draws a random history. Agents and actions have uneven shares, and each agent uses only some of
 * the actions. Some of the requests come in bursts, many within one millisecond.
 */
export function drawHistory(random: Random, plan: HistoryPlan): History {
  const drawAgent = zipf(random, plan.agents, 1.5);
  const drawAction = actionsOfAgents(random, plan);
  const bursts = Array.from({ length: 500 }, () => plan.from + random.below(plan.to - plan.from));
  const permissions = {
    agent: [] as number[],
    action: [] as number[],
    requestedAt: [] as number[],
  };
  const lives = { expiresIn: [] as number[], maxUses: [] as number[] };
  const drawn = { time: [] as number[], permission: [] as number[], event: [] as number[] };
  while (drawn.time.length < plan.entries) {
    const permission = permissions.agent.length;
    const agent = drawAgent();
    const requestedAt = random.chance(0.1)
      ? random.pick(bursts)
      : plan.from + random.below(plan.to - plan.from);
    const life = drawLife(random, requestedAt);
    permissions.agent.push(agent);
    permissions.action.push(drawAction(agent));
    permissions.requestedAt.push(requestedAt);
    lives.expiresIn.push(life.expiresIn);
    lives.maxUses.push(life.maxUses);
    for (const { event, time } of life.events) {
      if (time > plan.to) break;
      drawn.time.push(time);
      drawn.permission.push(permission);
      drawn.event.push(event);
    }
  }
  const times = Float64Array.from(drawn.time);
  // The sort is stable, so entries of a permission with equal times keep their order.
  const order = Uint32Array.from(times.keys()).sort(
    (a, b) => (times[a] as number) - (times[b] as number) || a - b,
  );
  const kept = order.subarray(0, plan.entries);
  return {
    actions: plan.actions,
    agent: Uint16Array.from(permissions.agent),
    action: Uint16Array.from(permissions.action),
    requestedAt: Float64Array.from(permissions.requestedAt),
    expiresIn: Float64Array.from(lives.expiresIn),
    maxUses: Uint16Array.from(lives.maxUses),
    time: Float64Array.from(kept, (at) => times[at] as number),
    permission: Uint32Array.from(kept, (at) => drawn.permission[at] as number),
    event: Uint8Array.from(kept, (at) => drawn.event[at] as number),
    erased: new Uint8Array(plan.entries),
  };
}

/**
 * Marks the first entries of the log as erased, as retention does, and all entries of some
 * permissions, as the deletion of agents does: of random single ones, and of ranges.
 */
export function eraseSome(random: Random, { erased, agent, permission }: History): void {
  const isGone = new Uint8Array(agent.length).map(() => (random.chance(0.05) ? 1 : 0));
  for (let run = 0; run < 30; run++) {
    const start = random.below(isGone.length - 600);
    isGone.fill(1, start, start + random.below(600));
  }
  for (let at = 0; at < erased.length; at++) erased[at] = isGone[permission[at] as number] ?? 0;
  erased.fill(1, 0, 5_000);
}

/** Assigns each agent some of the actions, in its own order of preference. */
function actionsOfAgents(
  random: Random,
  { agents, actions }: HistoryPlan,
): (agent: number) => number {
  const draw = zipf(random, actions.length, 1.1);
  const known = Array.from({ length: agents }, () => {
    const few = new Set<number>();
    for (let wanted = 3 + random.below(37), tries = 0; few.size < wanted && tries < 400; tries++)
      few.add(draw());
    return [...few];
  });
  // Actions that no agent drew are distributed in turn, so that every action is used.
  const drawn = new Set(known.flat());
  for (const action of actions.keys()) if (!drawn.has(action)) known[action % agents]?.push(action);
  const preferences = known.map((few) => zipf(random, few.length, 1.2));
  return (agent) => known[agent]?.[preferences[agent]?.() ?? 0] ?? 0;
}

function drawLife(random: Random, requestedAt: number): Life {
  const expiresIn = random.chance(0.2) ? 7 * DAY : HOUR;
  const events = [{ event: REQUEST, time: requestedAt }];
  const fate = random.next();
  if (fate < 0.08) {
    events.push({ event: EXPIRE, time: requestedAt + expiresIn + random.below(MINUTE) });
    return { maxUses: 1, expiresIn, events };
  }
  const decidedAt = requestedAt + 1 + random.below(expiresIn / 2);
  if (fate < 0.14) {
    events.push({ event: DENY, time: decidedAt });
    return { maxUses: 1, expiresIn, events };
  }
  events.push({ event: APPROVE, time: decidedAt });
  const maxUses = drawMaxUses(random);
  const end = random.next();
  if (end < 0.1) {
    events.push({ event: EXPIRE, time: decidedAt + TOKEN_TTL + random.below(MINUTE) });
    return { maxUses, expiresIn, events };
  }
  const uses =
    end < 0.14
      ? Math.min(maxUses - 1, random.below(3))
      : end < 0.9
        ? maxUses
        : random.below(maxUses) + 1;
  for (let use = 1; use <= uses; use++) {
    events.push({
      event: USE,
      time: decidedAt + Math.floor((use * (TOKEN_TTL - MINUTE)) / (uses + 1)),
    });
  }
  if (end < 0.14) events.push({ event: REVOKE, time: decidedAt + TOKEN_TTL - MINUTE / 2 });
  return { maxUses, expiresIn, events };
}

function drawMaxUses(random: Random): number {
  if (random.chance(1 / 20_000)) return 1_000;
  return random.chance(0.6) ? 1 : 2 + random.below(5);
}
