import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { attempts } from '../support/hostile/attempts';
import { checkArrivals } from '../support/hostile/check';
import { USUAL_CALLS } from '../support/hostile/usual-calls';
import { HostileWalk } from '../support/hostile/walk';
import { checkIntegrity } from '../support/integrity';

/** How many random attempts are made on one scene, and on how many scenes. */
const ATTEMPTS = 100;
const WALKS = 100;
const TRIES = ATTEMPTS * WALKS;
const MINUTE = 60_000;

/** What has to have come of some attempts, so that the others mean something. */
const REACHED = [
  ...['read 200', 'act 200', 'act 302', 'act 429', 'act 500'],
  ...['by policy', 'by api', 'by series'],
  ...['invalid_request 400', 'unauthorized 401', 'wrong_credential 403', 'not_found 404'],
  ...['connection_refused 403', 'account_stopped 403', 'agent_inactive 403'],
  ...['permission_pending 403', 'permission_denied 403', 'permission_expired 403'],
  ...['already_used 409', 'idempotency_key_reuse 422'],
  ...['payload_too_large 413', 'unsupported_media_type 415'],
  ...['connection_failed 502', 'connection_unauthorized 502'],
];

it(`a hostile agent has nothing sent that no rule allows and that has no use, in ${TRIES} tries`, {
  timeout: 60 * MINUTE,
}, async () => {
  const results = new Map<string, number>();
  const count = (name: string, times = 1) => results.set(name, (results.get(name) ?? 0) + times);
  await fc.assert(
    fc.asyncProperty(
      fc.array(attempts, { minLength: ATTEMPTS, maxLength: ATTEMPTS, size: 'max' }),
      async (tries) => {
        const walk = await HostileWalk.begin();
        for (const attempt of [...USUAL_CALLS, ...tries]) await walk.take(attempt);
        const { faults, decided } = await checkArrivals(walk.scene);
        expect([...walk.faults, ...faults]).toEqual([]);
        for (const [name, times] of walk.results) count(name, times);
        for (const via of decided) count(`by ${via}`);
        for (const database of [env.DB, env.DB_01])
          expect(await checkIntegrity(database)).toEqual([]);
      },
    ),
    // A walk takes long to shrink. Its seed is printed.
    { numRuns: WALKS, endOnFailure: true },
  );
  const told = [...results].map(([name, times]) => `${times} ${name}`).join('\n');
  const missing = REACHED.filter((name) => !results.has(name));
  expect(missing, told).toEqual([]);
});
