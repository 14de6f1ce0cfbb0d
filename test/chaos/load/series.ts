import { certaintyOf } from '../client.ts';
import type { KnownPermission, KnownSeries, Memory } from '../memory.ts';
import type { Actor } from './actor.ts';
import { SUMMED } from './budgets.ts';
import { sendRequest } from './permissions.ts';
import { ACT, FIRST, termsOf } from './series-terms.ts';

/** What agents ask for in runs: policies with budgets approve some of the second, too. */
const ACTIONS = ['run.act', 'auto.approve'];
const RESOURCES = ['box:run-1', 'box:run-2'];
const SHORTEST = 60;
/** Actions choose among this many of the newest series. */
const RECENT = 8;

/** Has an agent ask for the first act of a run. */
export async function askForSeries(actor: Actor): Promise<void> {
  const { memory, random } = actor;
  const agents = memory.agents.filter(({ alive }) => alive === 'yes');
  if (agents.length === 0 || !memory.giver) return;
  const mark = memory.newMark();
  const series: KnownSeries = {
    action: random.pick(ACTIONS),
    resource: random.pick(RESOURCES),
    requests: 2 + random.below(6),
    expires_in: SHORTEST + random.below(60),
    given: null,
    endedAt: null,
  };
  const body = { ...bodyOf(series, FIRST + numberOf(mark)), series: termsOf(series) };
  await sendRequest(actor, { agent: random.pick(agents), mark, body, series });
}

/** Has an agent ask for one or several more acts of a run at once, some of which do not belong to it. */
export async function actBySeries(actor: Actor): Promise<void> {
  const { memory, random } = actor;
  const permission = pickSeries(actor);
  if (!permission?.series || permission.agent.alive !== 'yes') return;
  const { series } = permission;
  const count = random.chance(0.3) ? 1 + random.below(8) : 1;
  await Promise.all(
    Array.from({ length: count }, async () => {
      const mark = memory.newMark();
      const act = bodyOf(series, numberOf(mark));
      const body = random.chance(0.2) ? random.pick(OTHERS)(act) : act;
      const agent = random.chance(0.1) ? random.pick(memory.agents) : permission.agent;
      if (agent.alive === 'yes') await sendRequest(actor, { agent, mark, body, series: null });
    }),
  );
}

/** Ends a series by itself, with all that its giver gave, or with all of its agent. */
export async function endSeries(actor: Actor): Promise<void> {
  const permission = pickSeries(actor);
  if (!permission) return;
  await actor.random.pick([endOne, suspendGiver, changeOwner])(actor.memory, permission);
}

async function endOne({ user }: Memory, permission: KnownPermission): Promise<void> {
  const outcome = await user.ask('DELETE', `/v1/permissions/${permission.id}/series`);
  if (certaintyOf(outcome) === 'done') recordEnds([permission]);
}

/** Suspends the only member who gives series, for a moment. */
async function suspendGiver(memory: Memory): Promise<void> {
  const { giver, user } = memory;
  if (!giver?.members) return;
  const given = memory.permissions.filter(isGiven);
  const path = `/v1/members/${giver.members.own}`;
  const suspended = await user.repeat('PUT', path, { status: 'suspended' });
  if (certaintyOf(suspended) === 'done') recordEnds(given);
  await user.repeat('PUT', path, { status: 'active' });
}

/** Gives the agent another owner, and another one again, which ends all its series. */
async function changeOwner(memory: Memory, { agent }: KnownPermission): Promise<void> {
  const { giver, user } = memory;
  if (!giver?.members) return;
  const given = memory.permissions.filter((each) => each.agent === agent && isGiven(each));
  const path = `/v1/agents/${agent.id}`;
  const changes = [
    await user.repeat('PUT', path, { owner_id: giver.members.own }),
    await user.repeat('PUT', path, { owner_id: giver.members.other }),
  ];
  if (changes.every((outcome) => certaintyOf(outcome) === 'done')) recordEnds(given);
}

function isGiven({ series }: KnownPermission): boolean {
  return series?.given === 'done';
}

function recordEnds(permissions: KnownPermission[]): void {
  for (const { series } of permissions) if (series) series.endedAt ??= Date.now();
}

type Body = ReturnType<typeof bodyOf>;

function bodyOf({ action, resource }: KnownSeries, number: number) {
  return { action, resource, scope: { [SUMMED]: 1.5, names: ['a', 'b'], [ACT]: number } };
}

/** Requests that are like an act of a series and do not belong to it. */
const OTHERS: ((act: Body) => object)[] = [
  (act) => ({ ...act, max_uses: 2 }),
  (act) => ({ ...act, scope: { ...act.scope, names: ['a'] } }),
  (act) => ({ ...act, scope: { ...act.scope, [SUMMED]: 1.4 } }),
  (act) => ({ ...act, scope: { ...act.scope, more: 1 } }),
];

function numberOf(mark: string): number {
  return Number(mark.replace('mark-', ''));
}

function pickSeries({ memory, random }: Actor) {
  const given = memory.permissions.filter(isGiven).slice(-RECENT);
  return given.length === 0 ? undefined : random.pick(given);
}
