import { afterAll, beforeAll, expect, it } from 'vitest';
import { depth } from '../support/depth';
import { DeployFolder } from '../support/local/deploy-folder';
import type { Call, FailureKind } from '../support/local/fake-cloudflare';

const WORDS = ['--domain', 'countersign.example.com', '--email', 'owner@example.com'];

/** Wrangler only warns if this fails, and goes on: the upload had these settings too. */
const TOLERATED = 'PATCH /workers/scripts/countersign/script-settings';

const folder = new DeployFolder();
const { cloudflare } = folder;

beforeAll(() => folder.open());
afterAll(() => folder.close());

/**
 * The ways in which a call fails in turn: in a deep run the one that is hardest to continue after.
 */
function waysToFail({ kind, isWrite, isFromWrangler }: Call): FailureKind[] {
  if (kind === TOLERATED) return [];
  if (depth.isExhaustive) return isWrite ? ['refused', 'lost'] : ['refused'];
  if (isWrite) return ['lost'];
  return isFromWrangler ? [] : ['refused'];
}

it('continues after the failure of every kind of call, and makes nothing twice', {
  timeout: 3_600_000,
}, async () => {
  const failed = new Set<string>();
  for (let runs = 0; ; runs++) {
    expect(runs).toBeLessThan(200);
    // The first kind of call that has not failed yet fails for a whole run, because wrangler
    // repeats calls.
    let current: { kind: string; how: FailureKind } | null = null;
    cloudflare.fail = (call) => {
      const how = current
        ? null
        : waysToFail(call).find((way) => !failed.has(`${way} ${call.kind}`));
      if (how) {
        current = { kind: call.kind, how };
        failed.add(`${how} ${call.kind}`);
      }
      return current?.kind === call.kind ? current.how : null;
    };
    const { code, stdout, stderr } = await folder.deploy(WORDS);
    if (!current) {
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      break;
    }
    const what: unknown = current;
    expect([what, code]).toEqual([what, 1]);
    expect([what, stdout]).toEqual([what, expect.stringMatching(/^✗ /m)]);
    expect([what, stderr]).toEqual([
      what,
      expect.stringMatching(/(Nothing was changed|it continues here)\.\n$/),
    ]);
  }

  const { account, service } = cloudflare;
  expect(account.unknown).toEqual([]);
  expect([...account.databases.values()].map(({ name }) => name)).toEqual([
    'countersign',
    'countersign-01',
  ]);
  for (const { database } of account.databases.values()) {
    const rows = database
      .prepare('select count(*) as n, count(distinct name) as distinct_n from d1_migrations')
      .get();
    expect(rows).toEqual({ n: rows?.distinct_n, distinct_n: expect.any(Number) });
  }
  expect([account.buckets.size, account.queues.size]).toEqual([1, 6]);
  expect([...account.queues.values()].flatMap(({ consumers }) => consumers)).toHaveLength(3);
  expect([...account.domains]).toEqual([['countersign.example.com', 'countersign']]);
  expect(service.accounts).toHaveLength(1);
  expect(folder.printed).toMatch(/https:\/\/countersign\.example\.com\/console\/join\/secret-/);
  expect([...failed]).toContain('lost POST service /v1/admin/users');
  // At least: login, queues, databases, bucket, rule, migrations, upload, triggers, domain, health
  // and account.
  expect(failed.size).toBeGreaterThan(depth.isExhaustive ? 40 : 20);
  cloudflare.fail = () => null;
  expect(await folder.deploy(WORDS)).toMatchObject({ code: 0, writes: [] });
});
