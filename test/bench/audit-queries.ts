import { EVENTS } from './history.ts';
import { permissionId } from './identifiers.ts';
import type { AuditFilter } from './oracle.ts';
import { anyRank, type Random } from './random.ts';
import type { LoadedTenant } from './tenant.ts';

/** The parameters that a query has. */
export interface Combination {
  agent: boolean;
  permission: boolean;
  event: boolean;
  action: boolean;
  start: boolean;
  end: boolean;
  order: 'asc' | 'desc';
}

/** Every combination of filters, dates and orders, 128 in all. */
export function allCombinations(): Combination[] {
  return Array.from({ length: 128 }, (_, bits) => {
    const bit = (place: number) => (bits & (1 << place)) !== 0;
    return {
      agent: bit(0),
      permission: bit(1),
      event: bit(2),
      action: bit(3),
      start: bit(4),
      end: bit(5),
      order: bit(6) ? 'asc' : 'desc',
    };
  });
}

const UNKNOWN = '01h2xcejqtf2nbrexx3vqjhp41';

/**
 * Draws a random query with a combination of parameters. Its values are frequent, rare, unknown or
 * of another account, and match the same entry or not; its ranges of time are wide, tiny, empty or
 * at either end of the log.
 */
export function drawQuery(
  random: Random,
  combination: Combination,
  tenant: LoadedTenant,
  foreign: LoadedTenant,
): AuditFilter {
  const { history } = tenant;
  // Half of the queries take all values from this entry, so that they match together.
  const model = random.below(history.time.length);
  const together = random.chance(0.5);
  const permission = history.permission[
    together ? model : random.below(history.time.length)
  ] as number;
  const entryPermission = history.permission[model] as number;
  return {
    ...(combination.agent && {
      agent_id: drawAgent(random, tenant, foreign, together ? entryPermission : null),
    }),
    ...(combination.permission && {
      permission_id: drawPermission(random, tenant, foreign, permission),
    }),
    ...(combination.event && {
      event_type: together
        ? (EVENTS[history.event[model] as number] as string)
        : random.pick(EVENTS),
    }),
    ...(combination.action && {
      action: drawAction(random, tenant, together ? entryPermission : null),
    }),
    ...drawRange(random, combination, tenant, model),
    ...(combination.order === 'asc' &&
      random.chance(0.3) && { after_sequence: random.below(history.time.length) }),
    order: combination.order,
  };
}

function drawAgent(
  random: Random,
  tenant: LoadedTenant,
  foreign: LoadedTenant,
  like: number | null,
): string {
  if (random.chance(0.05)) return random.pick(foreign.agents).id;
  if (random.chance(0.05)) return random.pick([`agent_${UNKNOWN}`, 'agent_', 'nobody']);
  const agent =
    like === null ? anyRank(random, tenant.agents.length) : (tenant.history.agent[like] as number);
  return tenant.agents[agent]?.id ?? `agent_${UNKNOWN}`;
}

function drawPermission(
  random: Random,
  tenant: LoadedTenant,
  foreign: LoadedTenant,
  like: number,
): string {
  const of = ({ number, history }: LoadedTenant, permission: number) =>
    permissionId(number, permission, history.requestedAt[permission] as number);
  if (random.chance(0.05)) return of(foreign, random.below(foreign.history.agent.length));
  if (random.chance(0.05)) return random.pick([`perm_${UNKNOWN}`, 'perm_', 'nothing']);
  const longest = tenant.history.maxUses.indexOf(1_000);
  if (longest !== -1 && random.chance(0.15)) return of(tenant, longest);
  return of(tenant, like);
}

function drawAction(random: Random, { history }: LoadedTenant, like: number | null): string {
  if (random.chance(0.05)) return random.pick(['nothing.done', '', 'abroad.only']);
  return history.actions[
    like === null ? anyRank(random, history.actions.length) : (history.action[like] as number)
  ] as string;
}

function drawRange(
  random: Random,
  { start, end }: Combination,
  { history }: LoadedTenant,
  model: number,
): Pick<AuditFilter, 'start_date' | 'end_date'> {
  const { time } = history;
  const at = (place: number) => time[Math.max(0, Math.min(time.length - 1, place))] as number;
  const anywhere = random.below(time.length);
  const day = 86_400_000;
  const [from, to] = random.pick<() => [number, number]>([
    () => [Math.min(at(model), at(anywhere)), Math.max(at(model), at(anywhere))],
    () => [at(model), at(model) + 1],
    () => [at(model), at(model)],
    () => [at(model), at(model + random.below(200)) + 1],
    () => [at(0), at(0) + 1],
    () => [at(0) - day, at(0)],
    () => [at(time.length - 1), at(time.length - 1) + 1],
    () => [at(time.length - 1) + 1, at(time.length - 1) + day],
    () => [0, at(random.below(100)) + 1],
    () => [at(time.length - 1 - random.below(100)), at(time.length - 1) + day],
    () => [at(0), at(time.length - 1) + 1],
  ])();
  const write = (ms: number) => new Date(ms).toISOString();
  const bare = random.chance(0.15);
  return {
    ...(start && { start_date: bare ? write(from).slice(0, 10) : write(from) }),
    ...(end && { end_date: bare ? write(to).slice(0, 10) : write(to) }),
  };
}
