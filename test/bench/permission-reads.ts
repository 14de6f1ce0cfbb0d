import { type Answer, Client } from '../support/local/client.ts';
import type { History } from './history.ts';
import { permissionId } from './identifiers.ts';
import { anyRank, type Random } from './random.ts';
import { median, type Report } from './report.ts';
import { replay, type States } from './states.ts';
import type { LoadedTenant } from './tenant.ts';

const STATUSES = ['pending', 'approved', 'denied', 'expired'] as const;
const QUERIES = 40;
const PAGE = 20;
const MAX_PAGES = 3;

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

/**
 * Lists an account's permissions with every combination of filters, frequent and rare values, and
 * next pages, and compares each page with the history.
 */
export async function measurePermissionLists(
  report: Report,
  random: Random,
  origin: string,
  tenant: LoadedTenant,
) {
  const { history } = tenant;
  report.heading(
    `GET /v1/permissions, ${history.agent.length} permissions: rows read by a page of ${PAGE}`,
  );
  const user = new Client(origin, tenant.token);
  const states = replay(history);
  const newest = newestFirst(tenant, states);
  let differences = 0;
  for (let bits = 0; bits < 8; bits++) {
    const reads: number[] = [];
    for (let query = 0; query < QUERIES; query++) {
      const filter = drawFilter(random, bits, tenant, query);
      const parameters = write(filter, tenant);
      let cursor: string | null = null;
      for (let page = 0; page < MAX_PAGES; page++) {
        const expected = () =>
          match(newest, history, states, filter, Date.now()).slice(page * PAGE, (page + 1) * PAGE);
        const before = expected();
        const asked: Record<string, string> = { ...parameters, ...(cursor !== null && { cursor }) };
        const { status, cost, body }: Answer<Page> = await user.get('/v1/permissions', asked);
        if (status !== 200)
          throw new Error(`GET /v1/permissions: ${status} for ${JSON.stringify(asked)}`);
        // A request may expire between the calculation from the history and the answer.
        if (!isPage(body, before) && !isPage(body, expected())) differences += 1;
        reads.push(cost.read);
        cursor = body.next_cursor;
        if (cursor === null) break;
      }
    }
    const names = ['status', 'agent_id', 'action'].filter((_, place) => bits & (1 << place));
    const name = names.join(' + ') || 'no filter';
    report.note(`${name.padEnd(28)} median ${median(reads)}, worst ${Math.max(...reads)}`);
  }
  report.verdict(differences === 0, `pages compared with the history: ${differences} differences`);
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
    ...(status !== undefined && { status: STATUSES[status] as string }),
    ...(agent !== undefined && { agent_id: agents[agent]?.id as string }),
    ...(action !== undefined && { action: history.actions[action] as string }),
  };
}

type Listed = { id: string; permission: number };

function newestFirst({ number, history }: LoadedTenant, states: States): Listed[] {
  return Array.from(history.requestedAt, (at, permission) => ({
    id: permissionId(number, permission, at),
    permission,
  }))
    .filter(({ permission }) => states.entries[permission] !== 0)
    .sort((a, b) => (a.id < b.id ? 1 : -1));
}

function match(
  newest: Listed[],
  history: History,
  states: States,
  filter: Filter,
  now: number,
): Listed[] {
  return newest.filter(({ permission }) => {
    if (filter.agent !== undefined && history.agent[permission] !== filter.agent) return false;
    if (filter.action !== undefined && history.action[permission] !== filter.action) return false;
    if (filter.status === undefined) return true;
    const stored = states.status[permission] as number;
    const end =
      (history.requestedAt[permission] as number) + (history.expiresIn[permission] as number);
    return (stored === 0 && end <= now ? 3 : stored) === filter.status;
  });
}

function isPage({ data }: Page, expected: Listed[]): boolean {
  return (
    data.length === expected.length && data.every(({ id }, place) => id === expected[place]?.id)
  );
}
