import { type GrowthAccount, makeGrowthAccount } from './account.ts';
import { LINES, type Line, WITHOUT_LINES } from './calls.ts';
import { type GrowthService, send } from './service.ts';

/** The sizes of the accounts of a growth table. The largest has the most that limits allow. */
export function sizesOf(small: number, large: number) {
  const limits = {
    ...{ agents: 10_000, members: 1_000, policies: 200, webhooks: 50, connections: 100 },
    waiting: 10_000,
  };
  return {
    small: { permissions: small },
    large: { permissions: large },
    largest: { permissions: large, ...limits },
  };
}

/**
 * By how many rows a cost may differ between accounts: those of a page that the small account
 * cannot fill.
 */
const PAGE = 100;

/**
 * The most rows that a request may read in any account. The widest is the creation of an agent,
 * which counts the 10,000 agents by an index; the console's pages read the names of all members,
 * policies and up to 500 agents. At this cap twenty requests at a time delay those of other
 * accounts by milliseconds, not seconds.
 */
const MOST_READ = 10_500;

interface Cost {
  read: number;
  written: number;
}

/** What one line of the table costs in each account. */
interface LineCost {
  name: string;
  small: Cost;
  large: Cost;
  largest: Cost;
  most: number | undefined;
  changesHistory: boolean;
}

/** Whether a line costs more where there is more history, and does not change it. */
export function grows({ small, large, most = 0, changesHistory }: LineCost): boolean {
  if (changesHistory) return false;
  return large.read > Math.max(small.read + PAGE, most) || large.written > small.written + PAGE;
}

/** Whether a line reads more than any request may. */
export function isTooWide({ large, largest }: LineCost): boolean {
  return Math.max(large.read, largest.read) > MOST_READ;
}

/** A line of the table in words. */
export function describeCost({ name, small, large, largest }: LineCost): string {
  const written = [small, large, largest].map((cost) => cost.written);
  return `${name}: ${small.read} → ${large.read} → ${largest.read} read, ${written.join(' → ')} written`;
}

/**
 * Finds the routes of the router without a line in the table, and lines without a route. The forms
 * of the console call the operations of the API, so only its pages have lines.
 */
export function findMissingLines(routes: readonly string[]): string[] {
  const measured = new Set([...LINES.map(({ route }) => route), ...Object.keys(WITHOUT_LINES)]);
  const wanted = routes.filter(
    (route) => route.startsWith('GET ') || !/^\w+ \/console/.test(route),
  );
  return [
    ...wanted
      .filter((route) => !measured.has(route))
      .map((route) => `${route} has no line in the growth table`),
    ...[...measured]
      .filter((route) => !wanted.includes(route))
      .map((route) => `there is no route ${route}`),
  ];
}

/** Finds the tools of the MCP server without a line in the table. */
export async function findMissingTools(
  service: GrowthService,
  { token, agent }: GrowthAccount,
): Promise<string[]> {
  const names = await Promise.all(
    [token, agent.key].map(async (credential) => {
      const { body } = await send(service, 'POST', {
        path: '/mcp',
        token: credential,
        headers: { Accept: 'application/json, text/event-stream' },
        body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
      });
      return (body.result.tools as { name: string }[]).map(({ name }) => name);
    }),
  );
  const measured = LINES.filter(({ route }) => route === 'POST /mcp').map(({ what }) => what);
  return names.flat().filter((name) => !measured.includes(name));
}

/**
 * The accounts of a growth table. Another account with a history of its own is the first of the
 * database.
 */
export async function makeGrowthAccounts(
  service: GrowthService,
  sizes: ReturnType<typeof sizesOf>,
) {
  await makeGrowthAccount(service, { permissions: 50 });
  return {
    small: await makeGrowthAccount(service, sizes.small),
    large: await makeGrowthAccount(service, sizes.large),
    largest: await makeGrowthAccount(service, sizes.largest),
  };
}

/** Sends the call of each line in each account, and returns what it cost. */
export async function measureLines(
  service: GrowthService,
  accounts: Awaited<ReturnType<typeof makeGrowthAccounts>>,
): Promise<LineCost[]> {
  const costs: LineCost[] = [];
  for (const line of LINES) {
    costs.push({
      name: `${line.route} ${line.what}`.trim(),
      small: await measureLine(service, accounts.small, line),
      large: await measureLine(service, accounts.large, line),
      largest: await measureLine(service, accounts.largest, line),
      most: line.most,
      changesHistory: line.changesHistory ?? false,
    });
  }
  return costs;
}

async function measureLine(
  service: GrowthService,
  account: GrowthAccount,
  { route, make }: Line,
): Promise<Cost> {
  const [method = ''] = route.split(' ');
  const call = await make(account);
  return send(service, method, {
    token: call.cookie === undefined ? account.token : null,
    ...call,
  });
}
