import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { checkVotes, watchApprovals } from '../../support/check-votes';
import { checkIntegrity } from '../../support/integrity';
import { beginWalks, returnTo, reviewWalks } from '../../support/review-walk';
import { saveTables } from '../../support/tables';

it('members, reviews and votes behave like their model for any sequence of steps', async () => {
  await watchApprovals(env.DB);
  const beginning = await beginWalks();
  beginning.world.advance(1);
  const { now } = beginning.world;
  const restore = await saveTables(env.DB);
  await fc.assert(
    fc.asyncProperty(reviewWalks, async (steps) => {
      const walk = await returnTo(beginning, now, restore);
      for (const step of steps) await walk.take(step);
      await walk.compare();
      expect(await checkVotes(env.DB)).toEqual([]);
      expect(await checkIntegrity(env.DB)).toEqual([]);
    }),
    // A walk takes long to shrink. Its steps are printed.
    { numRuns: 50, endOnFailure: true },
  );
});
