import { type Answer, Client } from '../support/local/client.ts';
import { EVENTS } from './history.ts';
import { permissionId } from './identifiers.ts';
import { anyRank, type Random } from './random.ts';
import { median, type Report } from './report.ts';
import { replay, type States } from './states.ts';
import type { LoadedTenant } from './tenant.ts';

const STATUSES = ['pending', 'approved', 'denied', 'expired'] as const;
const QUERIES = 40;
const PAGE = 50;
const MAX_PAGES = 3;
/** The most rows that a page reads, and the median of all pages. */
const MAX_READ = 2_100;
const MAX_MEDIAN = 400;

interface Page {
  data: { id: string }[];
  next_cursor: string | null;
}

/** The filters of GET /v1/permissions, as indexes into the history's lists. */
interface Filter {
  status?: number;
  agent?: number;
  action?: number;
}

interface PermissionSubject {
  name: string;
  tenant: LoadedTenant;
  /** The time from which its plan keeps entries. */
  keptFrom: number;
}

/**
 * Lists an account's permissions with every combination of filters, frequent and rare values, and
 * next pages, and compares the pages with the history.
 */
export async function measurePermissionLists(
  report: Report,
  random: Random,
  origin: string,
  { name, tenant, keptFrom }: PermissionSubject,
) {
  const { history } = tenant;
  report.heading(
    `GET /v1/permissions, ${name}, ${history.agent.length} permissions: rows read by a page of ${PAGE}`,
  );
  const user = new Client(origin, tenant.token);
  const states = replay(history);
  const lists = listEntries(tenant, states, keptFrom);
  let differences = 0;
  const all: number[] = [];
  for (let bits = 0; bits < 8; bits++) {
    const reads: number[] = [];
    for (let query = 0; query < QUERIES; query++) {
      const filter = drawFilter(random, bits, tenant, query);
      const before = match(lists, tenant, filter, Date.now());
      const pages = await readPages(user, write(filter, tenant));
      reads.push(...pages.reads);
      // A request may expire between the calculation from the history and the answer.
      const after = match(lists, tenant, filter, Date.now());
      if (!isBeginning(pages, before) && !isBeginning(pages, after)) differences += 1;
    }
    const names = ['status', 'agent_id', 'action'].filter((_, place) => bits & (1 << place));
    const filters = names.join(' + ') || 'no filter';
    report.note(`${filters.padEnd(28)} median ${median(reads)}, worst ${Math.max(...reads)}`);
    all.push(...reads);
  }
  report.atMost(MAX_MEDIAN, median(all), 'the median of the rows that a page reads');
  report.atMost(MAX_READ, Math.max(...all), 'the most rows that a page reads');
  report.verdict(differences === 0, `lists compared with the history: ${differences} differences`);
}

interface ReadPages {
  ids: string[];
  reads: number[];
  isComplete: boolean;
}

/** Reads the first pages of a list. */
async function readPages(user: Client, parameters: Record<string, string>): Promise<ReadPages> {
  const pages: ReadPages = { ids: [], reads: [], isComplete: false };
  let cursor: string | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const asked: Record<string, string> = { ...parameters, ...(cursor !== null && { cursor }) };
    const { status, cost, body }: Answer<Page> = await user.get('/v1/permissions', asked);
    if (status !== 200 || body.data.length > PAGE)
      throw new Error(`GET /v1/permissions: ${status} for ${JSON.stringify(asked)}`);
    pages.ids.push(...body.data.map(({ id }) => id));
    pages.reads.push(cost.read);
    cursor = body.next_cursor;
    if (cursor === null) return { ...pages, isComplete: true };
  }
  return pages;
}

function drawFilter(
  random: Random,
  bits: number,
  { history, agents }: LoadedTenant,
  query: number,
): Filter {
  const model = random.below(history.agent.length);
  const together = random.chance(0.5);
  const agent = together ? (history.agent[model] as number) : anyRank(random, agents.length);
  const action = together
    ? (history.action[model] as number)
    : anyRank(random, history.actions.length);
  return {
    ...(bits & 1 && { status: query % STATUSES.length }),
    ...(bits & 2 && { agent }),
    ...(bits & 4 && { action }),
  };
}

function write(
  { status, agent, action }: Filter,
  { history, agents }: LoadedTenant,
): Record<string, string> {
  return {
    limit: String(PAGE),
    ...(status !== undefined && { status: STATUSES[status] as string }),
    ...(agent !== undefined && { agent_id: agents[agent]?.id as string }),
    ...(action !== undefined && { action: history.actions[action] as string }),
  };
}

/** The permissions of each list, newest first: those requested, and those of each status. */
interface Lists {
  requested: number[];
  byStatus: number[][];
}

/**
 * Lists permissions by their entries, in the order of the log: what is pending always, and
 * everything else as far back as the log is kept.
 */
function listEntries({ history }: LoadedTenant, states: States, keptFrom: number): Lists {
  const lists: Lists = { requested: [], byStatus: STATUSES.map(() => []) };
  for (let at = history.time.length - 1; at >= 0; at--) {
    const permission = history.permission[at] as number;
    const status = states.status[permission] as number;
    const word = EVENTS[history.event[at] as number];
    const isKept = !history.erased[at] && (history.time[at] as number) >= keptFrom;
    if (word === 'request') {
      if (isKept) lists.requested.push(permission);
      const isLoaded = states.entries[permission] !== 0;
      if (status === 0 && isLoaded) lists.byStatus[0]?.push(permission);
    }
    const isEnd =
      word === 'approve' ||
      word === 'deny' ||
      (word === 'expire' && STATUSES[status] === 'expired');
    if (isEnd && isKept) lists.byStatus[status]?.push(permission);
  }
  return lists;
}

/** The ids of the permissions that match, without those of deleted agents. */
function match(lists: Lists, tenant: LoadedTenant, filter: Filter, now: number): string[] {
  const { history, number, agents } = tenant;
  const listed =
    filter.status === undefined ? lists.requested : (lists.byStatus[filter.status] ?? []);
  const endOf = (permission: number) =>
    (history.requestedAt[permission] as number) + (history.expiresIn[permission] as number);
  return listed
    .filter((permission) => {
      const agent = history.agent[permission] as number;
      if (agent >= agents.length) return false;
      if (filter.agent !== undefined && agent !== filter.agent) return false;
      if (filter.action !== undefined && history.action[permission] !== filter.action) return false;
      return filter.status !== 0 || endOf(permission) > now;
    })
    .map((permission) =>
      permissionId(number, permission, history.requestedAt[permission] as number),
    );
}

function isBeginning({ ids, isComplete }: ReadPages, expected: string[]): boolean {
  if (isComplete && ids.length !== expected.length) return false;
  return ids.every((id, place) => id === expected[place]);
}
