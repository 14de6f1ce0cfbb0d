import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { pages } from '../../src/console/pages';
import { BackgroundWork } from '../support/background-work';
import { depth } from '../support/depth';
import {
  describeCost,
  findMissingLines,
  findMissingTools,
  grows,
  isTooWide,
  makeGrowthAccounts,
  measureLines,
  sizesOf,
} from '../support/growth/measure';
import type { GrowthService } from '../support/growth/service';
import { ORIGIN, World } from '../support/world';

function serve(world: World): GrowthService {
  return {
    origin: ORIGIN,
    operatorToken: world.env.ADMIN_TOKEN ?? '',
    routes: [
      ...new Set(
        [...world.app.routes, ...pages.routes]
          .filter(({ method }) => method !== 'ALL')
          .map(({ method, path }) => `${method} ${path}`),
      ),
    ],
    async fetch(path, options) {
      const work = new BackgroundWork();
      const answer = await world.app.fetch(
        new Request(ORIGIN + path, options),
        world.env,
        work.context,
      );
      await work.finish();
      return answer;
    },
    async run(statements) {
      let rows: unknown[] = [];
      for (const statement of statements) rows = (await env.DB.prepare(statement).all()).results;
      return rows;
    },
    async work() {
      await world.work();
      await world.sweep();
    },
  };
}

it('every operation and every page of the console has a line in the growth table', () => {
  expect(findMissingLines(serve(new World()).routes)).toEqual([]);
});

describe.runIf(depth.isDeep)('the growth table', () => {
  it('reads and writes the same with more history, and little in the largest account', async () => {
    const service = serve(new World());
    const accounts = await makeGrowthAccounts(service, sizesOf(300, 2_400));
    expect(await findMissingTools(service, accounts.small)).toEqual([]);
    const costs = await measureLines(service, accounts);
    expect(costs.filter(grows).map(describeCost)).toEqual([]);
    expect(costs.filter(isTooWide).map(describeCost)).toEqual([]);
  });
});
