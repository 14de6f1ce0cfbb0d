import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { TestBucket } from '../../support/bucket';
import { depth } from '../../support/depth';
import { failingCalls, MODES } from '../../support/failing-calls';
import { FaultyDatabase } from '../../support/faults';
import { errorsDuring } from '../../support/log';
import { rootOf } from '../../support/merkle';
import { Outage } from '../../support/outage';
import { emptyTables } from '../../support/tables';
import {
  addEntries,
  checkpointOf,
  expectSigned,
  expectTree,
  leavesOf,
  parseNote,
} from '../../support/tree';
import { type Json, type TestAccount, World } from '../../support/world';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const EMPTY_ROOT = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

beforeEach(() => emptyTables(env.DB));

interface Scene {
  world: World;
  account: TestAccount;
  bucket: TestBucket;
}

async function makeScene(overrides: Partial<World['env']> = {}): Promise<Scene> {
  const bucket = new TestBucket(1, 1_000);
  const world = new World({ FILES: bucket.binding, ...overrides });
  return { world, account: await world.account({ plan: 'enterprise' }), bucket };
}

async function keptNotes({ bucket, account }: Scene): Promise<string[]> {
  const keys = bucket.keys.filter((key) => key.startsWith(`trees/${account.id}/checkpoints/`));
  return Promise.all(keys.map(async (key) => (await bucket.binding.get(key))?.text() ?? ''));
}

describe('the head of a log', () => {
  it('is the signed head of an empty tree at first', async () => {
    const { world, account } = await makeScene();
    const created = (await account.must(200, 'GET', '/v1/me')).body.created_at;
    const checkpoint = await checkpointOf(account);
    expect(checkpoint).toMatchObject({ tree_size: 0, root_hash: EMPTY_ROOT, timestamp: created });
    await expectSigned(world, checkpoint);
    expect(checkpoint.origin).toBe(`${new URL(world.env.PUBLIC_URL ?? '').host}/${account.id}`);
    await world.sweep();
    expect(await checkpointOf(account)).toEqual(checkpoint);
  });

  it('covers every entry after the next sweep, and does not change without new entries', async () => {
    const { world, account } = await makeScene();
    const agent = await account.agent();
    const permission = await agent.request();
    await account.must(200, 'POST', `/v1/permissions/${permission.id}/approve`);
    world.advance(MINUTE);
    await world.sweep();
    const first = await expectTree(account);
    expect(first).toMatchObject({ tree_size: 2, timestamp: new Date(world.now).toISOString() });
    world.advance(2 * MINUTE);
    await world.sweep();
    expect(await checkpointOf(account)).toEqual(first);
    await agent.request();
    expect(await checkpointOf(account)).toEqual(first);
    await world.sweep();
    expect((await expectTree(account)).tree_size).toBe(3);
  });

  it.each([255, 256, 257, 1_030])(
    'is correct for a log of %d entries that a single sweep seals',
    async (count) => {
      const { world, account } = await makeScene();
      await addEntries(account, count);
      await world.sweep();
      expect((await expectTree(account)).tree_size).toBe(count);
    },
  );

  it.runIf(depth.isDeep)(
    'is correct for a log that grows in steps, and for 20 other logs in the same sweep',
    async () => {
      const { world, account } = await makeScene();
      const others = await Promise.all(Array.from({ length: 20 }, () => world.account()));
      for (const other of others) await (await other.agent()).request();
      for (const step of [200, 200, 113, 511]) {
        await addEntries(account, step);
        await world.sweep();
      }
      for (const other of others) expect((await checkpointOf(other)).tree_size).toBe(1);
      expect((await expectTree(account)).tree_size).toBe(1_024);
    },
  );

  it('is signed with the newest root secret at the time of sealing', async () => {
    const { world, account, bucket } = await makeScene();
    const agent = await account.agent();
    await agent.request();
    await world.sweep();
    const before = await checkpointOf(account);
    const ROOT_SECRET = `${new Uint8Array(32).fill(9).toBase64()},${world.env.ROOT_SECRET}`;
    const rotated = new World({ FILES: bucket.binding, ROOT_SECRET });
    await agent.request();
    await rotated.sweep();
    const { body: after } = await rotated.must(200, 'GET', '/v1/audit/checkpoint', {
      token: account.token,
    });
    await expectSigned(rotated, after);
    const newest = new World({
      FILES: bucket.binding,
      ROOT_SECRET: ROOT_SECRET.split(',')[0] ?? '',
    });
    await expectSigned(newest, after);
    await expect(expectSigned(newest, before)).rejects.toThrow();
  });
});

describe('a proof', () => {
  it('exists once the entry is sealed', async () => {
    const { world, account } = await makeScene();
    await (await account.agent()).request();
    const [{ id }] = await account.log();
    const { body } = await account.must(409, 'GET', `/v1/audit/${id}/proof`);
    expect(body.code).toBe('conflict');
    await world.sweep();
    await account.must(200, 'GET', `/v1/audit/${id}/proof`);
  });

  it('exists only for entries of the account within their retention', async () => {
    const { world, account } = await makeScene();
    await (await account.agent()).request();
    await world.sweep();
    const [{ id }] = await account.log();
    const other = await world.account();
    await other.must(404, 'GET', `/v1/audit/${id}/proof`);
    await account.must(404, 'GET', '/v1/audit/audit_00000000000000000000000000/proof');
    await account.must(404, 'GET', '/v1/audit/nonsense/proof');
    world.advance(2_558 * 24 * HOUR);
    await account.must(404, 'GET', `/v1/audit/${id}/proof`);
  });

  it('of consistency exists only for sizes up to the tree size of the head', async () => {
    const { world, account } = await makeScene();
    const agent = await account.agent();
    for (let i = 0; i < 3; i++) await agent.request();
    await world.sweep();
    const read = (from: unknown, to: unknown) =>
      account.call('GET', `/v1/audit/consistency?from=${from}&to=${to}`);
    expect((await read(0, 3)).body).toMatchObject({
      from_root_hash: EMPTY_ROOT,
      consistency_path: [],
    });
    expect((await read(3, 3)).body.consistency_path).toEqual([]);
    expect((await read(0, 0)).body.to_root_hash).toBe(EMPTY_ROOT);
    for (const [from, to, path] of [
      [0, 4, 'query.to'],
      [3, 2, 'query.from'],
      [-1, 2, 'query.from'],
      ['', 2, 'query.from'],
      [1.5, 2, 'query.from'],
      [1, 'x', 'query.to'],
    ]) {
      const { status, body } = await read(from, to);
      expect([status, body.code, body.errors[0].path]).toEqual([400, 'invalid_request', path]);
    }
    await account.must(400, 'GET', '/v1/audit/consistency');
  });

  it('needs two database calls, one head and at most six tiles for a log of 1,730 entries', async () => {
    const { world, account, bucket } = await makeScene();
    await addEntries(account, 1_030);
    await world.sweep();
    // R2 has no head of these entries yet, so the older head in R2 must be checked against the tree
    // as well.
    await addEntries(account, 700);
    await world.sweep();
    const [, , entry] = await account.log();
    const read: string[] = [];
    const { binding } = bucket;
    const get = (key: string, ...rest: [R2GetOptions]) => {
      read.push(key);
      return binding.get(key, ...rest);
    };
    const counted = new World({ FILES: { ...binding, get } as R2Bucket });
    const { cost } = await counted.must(200, 'GET', `/v1/audit/${entry.id}/proof`, {
      token: account.token,
    });
    expect(cost).toMatchObject({ trips: 2, written: 0 });
    expect(cost.read).toBeLessThanOrEqual(15);
    const tiles = read.filter((key) => key.includes('/tiles/'));
    expect(read.length - tiles.length).toBe(1);
    expect(tiles.length).toBeLessThanOrEqual(6);
    expect(new Set(tiles).size).toBe(tiles.length);
  });
});

describe.runIf(depth.isDeep)('sealing', () => {
  it('hashes the entries of a deleted agent unchanged', async () => {
    const { world, account } = await makeScene();
    const agent = await account.agent();
    const other = await account.agent();
    await agent.request();
    await other.request();
    const leaves = await leavesOf(account);
    await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    await world.sweep();
    const { tree_size, root_hash } = await checkpointOf(account);
    expect([tree_size, root_hash]).toEqual([2, rootOf(leaves).toHex()]);
  });

  it('publishes the first head in R2 immediately, then one head per hour with changes', async () => {
    const scene = await makeScene();
    const { world, account } = scene;
    const agent = await account.agent();
    const heads: string[] = [];
    for (let step = 0; step < 15; step++) {
      if (step < 8) await agent.request({ expires_in: 86_400 });
      await world.sweep();
      heads.push((await checkpointOf(account)).note);
      world.advance(10 * MINUTE);
    }
    const kept = await keptNotes(scene);
    expect(kept.map((note) => parseNote(note).size)).toEqual([1, 7, 8]);
    for (const note of kept) expect(heads).toContain(note);
    const { results } = await env.DB.prepare('select due_at from trees').all();
    expect(results).toEqual([{ due_at: null }]);
  });

  it('hashes an empty leaf for an entry that was removed before sealing', async () => {
    const { world, account } = await makeScene();
    const agent = await account.agent();
    for (let i = 0; i < 3; i++) await agent.request();
    const leaves = await leavesOf(account);
    await env.DB.prepare('delete from audit_entries where pos % 4294967296 = 2').run();
    await world.sweep();
    const nothing = new Uint8Array(await crypto.subtle.digest('SHA-256', Uint8Array.of(0)));
    const root = rootOf([leaves[0] as Uint8Array, nothing, leaves[2] as Uint8Array]);
    expect((await checkpointOf(account)).root_hash).toBe(root.toHex());
  });

  it('refuses a log that was shortened or reset, and reports it in the service log', async () => {
    const scene = await makeScene();
    const { world, account } = scene;
    const agent = await account.agent();
    for (let i = 0; i < 5; i++) await agent.request();
    await world.sweep();
    const head = await checkpointOf(account);
    await env.DB.prepare('delete from audit_entries where pos % 4294967296 > 3').run();
    await env.DB.prepare('update trees set due_at = 0').run();
    const expectRefused = async () => {
      const lines = await errorsDuring(() => world.sweep());
      expect(lines.filter(({ event }) => event === 'tree_refused')).toMatchObject([
        { account: account.id },
      ]);
    };
    await expectRefused();
    expect(await checkpointOf(account)).toEqual(head);
    // As if the whole database had been restored to an earlier time.
    await env.DB.prepare(
      "update trees set size = 0, root = null, frontier = x'', published_size = 0, due_at = 0",
    ).run();
    await expectRefused();
    expect(await checkpointOf(account)).toEqual(head);
    // The log then grows with other entries, first to the same size and then beyond it.
    for (let i = 0; i < 2; i++) await agent.request();
    await expectRefused();
    await agent.request();
    await expectRefused();
    expect((await keptNotes(scene)).map((note) => parseNote(note).size)).toEqual([5]);
  });

  it('refuses to replace a full tile with another one', async () => {
    const { world, account, bucket } = await makeScene();
    await addEntries(account, 300);
    await world.sweep();
    const before = await bucket.binding
      .get(`trees/${account.id}/tiles/0/0`)
      .then((object) => object?.arrayBuffer());
    await env.DB.prepare(
      "update audit_entries set ip_address = '10.0.0.1' where pos % 4294967296 = 7",
    ).run();
    await env.DB.prepare(
      "update trees set size = 0, root = null, frontier = x'', published_size = 0, due_at = 0",
    ).run();
    const lines = await errorsDuring(() => world.sweep());
    expect(lines.map(({ event }) => event)).toEqual(['tree_refused']);
    const after = await bucket.binding
      .get(`trees/${account.id}/tiles/0/0`)
      .then((object) => object?.arrayBuffer());
    expect(after).toEqual(before);
  });

  describe('never signs what an attacker wrote into the database', () => {
    /** A log of seven sealed entries. The newest head in R2 covers the first five. */
    async function sealTwice() {
      const scene = await makeScene();
      const agent = await scene.account.agent();
      for (let i = 0; i < 5; i++) await agent.request();
      await scene.world.sweep();
      for (let i = 0; i < 2; i++) await agent.request();
      await scene.world.sweep();
      return { ...scene, agent };
    }

    const change = (sequence: number) =>
      env.DB.prepare("update audit_entries set ip_address = '10.0.0.1' where pos % 4294967296 = ?")
        .bind(sequence)
        .run();

    /** Changes an entry, and the row of the tree so that it matches. */
    async function rewrite(account: TestAccount, sequence: number, columns: string) {
      await change(sequence);
      const leaves = await leavesOf(account);
      const frontier = new Uint8Array(leaves.flatMap((leaf) => [...leaf]));
      await env.DB.prepare(`update trees set root = ?, frontier = ?${columns}`)
        .bind(rootOf(leaves), frontier)
        .run();
    }

    const attacks: [string, string][] = [
      ['', ''],
      [', without its note', ', note = null'],
      [', with published size 7', ', published_size = 7'],
      [', with published size 1,000,000', ', published_size = 1000000'],
      [', with published size 0', ', published_size = 0, published_at = 0'],
    ];

    // Entry 3 is under the head in R2, entry 6 is after it.
    it.each(
      depth.cases(
        [3, 6].flatMap((sequence) =>
          attacks.map(([how, columns]) => [sequence, how, columns] as const),
        ),
        4,
      ),
    )(
      'if entry %d was changed, and the row of the tree to match it%s',
      async (sequence, _, columns) => {
        const { world, account, agent } = await sealTwice();
        const head = await checkpointOf(account);
        await rewrite(account, sequence, columns);
        // Without its note the newest head is unknown, so the newest head in R2 is shown.
        const size = columns.includes('note') ? 5 : 7;
        let shown: Json;
        const lines = await errorsDuring(async () => {
          shown = await checkpointOf(account);
        });
        expect(lines).toMatchObject([{ event: 'tree_refused' }]);
        expect([shown.tree_size, shown.note === head.note]).toEqual([size, size === 7]);
        const [{ id }] = await account.log();
        await errorsDuring(() => account.must(409, 'GET', `/v1/audit/${id}/proof`));
        await agent.request();
        const refused = await errorsDuring(() => world.sweep());
        expect(refused.map(({ event }) => event)).toContain('tree_refused');
        await errorsDuring(async () => expect(await checkpointOf(account)).toEqual(shown));
      },
    );

    it.each(
      depth.cases(
        [
          ['7', ', published_size = 7'],
          ['0', ', published_size = 0'],
          ['6', ', published_size = 6'],
        ],
        3,
      ),
    )('if the row says that nothing is sealed, with published size %s', async (_, columns) => {
      const { world, account } = await sealTwice();
      await change(3);
      const nothing =
        "size = 0, root = null, sealed_at = null, frontier = x'', note = null, due_at = 0";
      await env.DB.prepare(`update trees set ${nothing}${columns}`).run();
      const lines = await errorsDuring(() => world.sweep());
      expect(lines.map(({ event }) => event)).toContain('tree_refused');
      await errorsDuring(async () => expect((await checkpointOf(account)).tree_size).toBe(5));
    });
  });

  it('continues from a published head after its key was removed', async () => {
    const { world, account, bucket } = await makeScene();
    const agent = await account.agent();
    await agent.request();
    await world.sweep();
    const before = await checkpointOf(account);
    // The root secret also protects credentials, so the test reads the database instead of the API.
    const other = new World({
      FILES: bucket.binding,
      ROOT_SECRET: new Uint8Array(32).fill(9).toBase64(),
    });
    await agent.request();
    await other.sweep();
    const stored = await env.DB.prepare('select size, note from trees').first<{
      size: number;
      note: string;
    }>();
    expect(stored?.size).toBe(2);
    expect(stored?.note).not.toContain(before.note.split(' ').at(-1));
  });

  it('never signs a time before the time of the last head', async () => {
    const { world, account } = await makeScene();
    const agent = await account.agent();
    await agent.request();
    await world.sweep();
    const { timestamp } = await checkpointOf(account);
    world.advance(-MINUTE);
    await agent.request();
    await env.DB.prepare('update trees set due_at = 0').run();
    await world.sweep();
    expect(await checkpointOf(account)).toMatchObject({ tree_size: 2, timestamp });
  });

  it('is not delayed by an account that cannot be sealed', async () => {
    const { world, account } = await makeScene();
    const other = await world.account();
    for (const owner of [account, other]) await (await owner.agent()).request();
    await env.DB.prepare(
      "update trees set frontier = x'00' where account = (select min(account) from trees)",
    ).run();
    await errorsDuring(() => world.sweep());
    expect((await checkpointOf(other)).tree_size).toBe(1);
  });

  it.runIf(depth.isDeep)(
    'seals each log with its own entries if many logs are due, even logs of unknown accounts',
    async () => {
      const { world } = await makeScene();
      const accounts = await Promise.all(Array.from({ length: 20 }, () => world.account()));
      for (const account of accounts) await (await account.agent()).request();
      await env.DB.prepare(
        'insert into trees (account, due_at) values (0, 0), (999999999, 0)',
      ).run();
      await env.DB.prepare('update trees set due_at = 0').run();
      await world.sweep();
      for (const account of accounts) expect((await expectTree(account)).tree_size).toBe(1);
    },
  );

  it('makes no R2 call if no log has changed', async () => {
    const { world, account } = await makeScene();
    await (await account.agent()).request();
    await world.sweep();
    world.advance(2 * HOUR);
    await world.sweep();
    const outage = new Outage();
    const idle = new World({ FILES: outage.bucket(env.FILES) });
    idle.now = world.now + 3 * HOUR;
    await idle.sweep();
    expect(outage.calls).toBe(0);
  });

  it.each(depth.cases(MODES, 4))(
    'makes the same tree after any of its calls fails (%s)',
    async (mode) => {
      const outage = new Outage();
      const bucket = new TestBucket(1, 1_000);
      const scene = await makeScene({
        DB: outage.database(env.DB),
        FILES: outage.bucket(bucket.binding),
      });
      const { world, account } = scene;
      await addEntries(account, 600);
      const expected = rootOf(await leavesOf(account)).toHex();
      const reset = async () => {
        await env.DB.prepare(
          "update trees set size = 0, root = null, frontier = x'', note = null, sealed_at = null, published_size = 0, published_at = 0, due_at = 0",
        ).run();
        await bucket.binding.delete(bucket.keys);
      };
      outage.arm(null);
      await world.sweep();
      const calls = outage.calls;
      const kept = bucket.keys;
      expect(kept).toEqual([
        `trees/${account.id}/checkpoints/0000000000000600`,
        `trees/${account.id}/tiles/0/0`,
        `trees/${account.id}/tiles/0/1`,
      ]);
      for (const call of failingCalls(calls, 1, MODES.indexOf(mode))) {
        await reset();
        outage.arm({ call, mode });
        await errorsDuring(() => world.sweep().catch(() => undefined));
        outage.arm(null);
        world.advance(2 * MINUTE);
        await world.sweep();
        expect((await checkpointOf(account)).root_hash).toBe(expected);
        expect(bucket.keys).toEqual(kept);
      }
    },
    60_000,
  );

  it.runIf(depth.isDeep)('continues after R2 fails for hours', async () => {
    const outage = new Outage();
    const bucket = new TestBucket(1, 1_000);
    const scene = await makeScene({ FILES: outage.bucket(bucket.binding) });
    const { world, account } = scene;
    await addEntries(account, 300);
    await world.sweep();
    const before = await checkpointOf(account);
    outage.arm({ call: 1, mode: 'kill before' });
    for (let hour = 0; hour < 5; hour++) {
      await addEntries(account, 100);
      world.advance(HOUR);
      const lines = await errorsDuring(() => world.sweep());
      expect(lines.map(({ event }) => event)).toContain('tree_not_sealed');
      await errorsDuring(() => account.must(503, 'GET', '/v1/audit/checkpoint'));
    }
    outage.arm(null);
    expect(await checkpointOf(account)).toEqual(before);
    world.advance(MINUTE);
    await world.sweep();
    expect((await expectTree(account)).tree_size).toBe(800);
    expect((await keptNotes({ ...scene, bucket })).map((note) => parseNote(note).size)).toEqual([
      300, 800,
    ]);
  });

  it.runIf(depth.isDeep)(
    'continues from the published head of a crashed sealer, even if 63 other logs are due',
    async () => {
      const database = new FaultyDatabase(env.DB);
      const { world, account, bucket } = await makeScene({ DB: database.binding });
      await addEntries(account, 600);
      database.refuse(/^\s*update trees set\s+size/);
      await errorsDuring(() => world.sweep().catch(() => undefined));
      database.refuse(null);
      expect(bucket.keys.filter((key) => key.includes('/checkpoints/'))).toHaveLength(1);
      expect((await checkpointOf(account)).tree_size).toBe(600);
      const others = await Promise.all(Array.from({ length: 63 }, () => world.account()));
      for (const other of others) await (await other.agent()).request();
      world.advance(2 * MINUTE);
      expect(await errorsDuring(() => world.sweep())).toEqual([]);
      expect((await expectTree(account)).tree_size).toBe(600);
    },
  );

  it.runIf(depth.isDeep)('by three concurrent sweeps makes one tree', async () => {
    const { world, account } = await makeScene();
    await addEntries(account, 600);
    await Promise.all([world.sweep(), world.sweep(), world.sweep()]);
    expect((await expectTree(account)).tree_size).toBe(600);
  });

  describe('the log of a deleted account', () => {
    const deleteAccount = ({ world, id }: TestAccount) =>
      world.must(202, 'DELETE', `/v1/admin/users/${id}`, { token: world.env.ADMIN_TOKEN ?? '' });

    it.runIf(depth.isDeep)(
      'leaves nothing in R2 after 21 minutes, and no other tree changes',
      async () => {
        // R2 lists two objects per call, so deleting the tree takes several slices of a sweep.
        const bucket = new TestBucket(1, 2);
        const { world, account } = await makeScene({ FILES: bucket.binding });
        const other = await world.account();
        for (const owner of [account, other]) await addEntries(owner, 600);
        await world.sweep();
        const keysOf = ({ id }: TestAccount) => bucket.keys.filter((key) => key.includes(id));
        const [kept, others] = [keysOf(account), keysOf(other)];
        expect(kept).toHaveLength(3);
        const aside = `trees/${account.id}/set-aside/2026-01-01T00:00:00.000Z/tiles/0/9/2026-01-02T00:00:00.000Z`;
        await bucket.binding.put(aside, Uint8Array.of(1));
        await deleteAccount(account);
        for (let minute = 1; minute < 20; minute++) {
          world.advance(MINUTE);
          await world.sweep();
        }
        // A sealer that started before the deletion might still write.
        expect(keysOf(account)).toEqual([...kept, aside].toSorted());
        world.advance(2 * MINUTE);
        await world.sweep();
        expect([keysOf(account), keysOf(other)]).toEqual([[], others]);
        const { results } = await env.DB.prepare('select * from erasures').all();
        expect(results).toEqual([]);
      },
    );

    it.runIf(depth.isDeep)(
      'leaves nothing in R2 if the account is deleted at any point of the sweep',
      async () => {
        const outage = new Outage();
        const bucket = new TestBucket(1, 1_000);
        const { world } = await makeScene({
          DB: outage.database(env.DB),
          FILES: outage.bucket(bucket.binding),
        });
        let written = 0;
        for (let call = 1; call <= 8; call += depth.runs(2, 1)) {
          const account = await world.account();
          await addEntries(account, 600);
          outage.before(call, () => deleteAccount(account));
          await errorsDuring(() => world.sweep());
          outage.arm(null);
          if (bucket.keys.length > 0) written += 1;
          world.advance(21 * MINUTE);
          await world.sweep();
          expect([call, bucket.keys]).toEqual([call, []]);
        }
        expect(written).toBeGreaterThan(0);
      },
    );
  });
});
