import {
  describeCost,
  findMissingLines,
  findMissingTools,
  grows,
  isTooWide,
  makeGrowthAccounts,
  measureLines,
  sizesOf,
} from '../support/growth/measure.ts';
import type { GrowthService, Json } from '../support/growth/service.ts';
import {
  ADMIN_TOKEN,
  prepareState,
  type Service,
  startService,
  sweep,
} from '../support/local/service.ts';
import type { Report } from './report.ts';

const SMALL = 300;
const LARGE = 30_000;
/** `PUBLIC_URL` of local services. */
const ORIGIN = 'http://127.0.0.1';

/**
 * Calls every operation of the router, every page of the console and every tool of the MCP server
 * in an account of 300 permissions, in one of 30,000, and in the largest that limits allow.
 */
export async function measureGrowth(report: Report, state: string): Promise<void> {
  report.heading(
    `Rows read and written with ${SMALL} permissions → ${LARGE} → the largest account`,
  );
  await prepareState(state);
  const running = await startService(state, 'test/bench/metered-worker.ts');
  try {
    const service = await serve(running);
    const missing = findMissingLines(service.routes);
    const accounts = await makeGrowthAccounts(service, sizesOf(SMALL, LARGE));
    missing.push(...(await findMissingTools(service, accounts.small)));
    report.verdict(
      missing.length === 0,
      `operations, pages and tools without a line: ${missing.join(', ') || 'none'}`,
    );
    for (const cost of await measureLines(service, accounts)) {
      report.verdict(!grows(cost) && !isTooWide(cost), describeCost(cost));
    }
  } finally {
    await running.stop();
  }
}

async function serve(running: Service): Promise<GrowthService> {
  const { origin } = running;
  const runOne = async (statement: string) => {
    const answer = await fetch(`${origin}/bench/sql`, { method: 'POST', body: statement });
    if (!answer.ok) throw new Error(`${statement}: ${await answer.text()}`);
    return answer.json() as Promise<Json[]>;
  };
  return {
    origin: ORIGIN,
    operatorToken: ADMIN_TOKEN,
    routes: (await (await fetch(`${origin}/bench/routes`)).json()) as string[],
    fetch: (path, options) => fetch(origin + path, options),
    async run(statements) {
      let rows: Json[] = [];
      for (const statement of statements) rows = await runOne(statement);
      return rows;
    },
    async work() {
      for (const deadline = Date.now() + 60_000; ; ) {
        await sweep(running);
        const [row] = await runOne('select count(*) as unfinished from files where status = 0');
        if (row.unfinished === 0) return;
        if (Date.now() > deadline) throw new Error('the files did not get ready');
      }
    },
  };
}
