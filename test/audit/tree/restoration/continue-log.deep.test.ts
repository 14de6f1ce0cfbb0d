import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { TestBucket } from '../../../support/bucket';
import { depth } from '../../../support/depth';
import { readExport, sha256, startExport } from '../../../support/exports';
import { failingCalls, MODES } from '../../../support/failing-calls';
import { watchLog } from '../../../support/log';
import { Outage } from '../../../support/outage';
import { dumpTables, emptyTables, saveTables } from '../../../support/tables';
import { addEntries, checkpointOf, expectTree } from '../../../support/tree';
import { type Answer, type TestAccount, World } from '../../../support/world';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const TILE = 256;

const log = watchLog();

beforeEach(() => emptyTables(env.DB));

async function makeScene() {
  const outage = new Outage();
  const bucket: TestBucket = new TestBucket(1, 1_000, () => world.now);
  const world: World = new World({
    DB: outage.database(env.DB),
    FILES: outage.bucket(bucket.binding),
  });
  const account = await world.account({ plan: 'enterprise' });
  return { outage, bucket, world, account };
}

type Scene = Awaited<ReturnType<typeof makeScene>>;

/**
 * A log whose database was restored to its first 300 entries, and which has grown by `more` entries
 * since then.
 */
async function restoredLog(more = 400) {
  const scene = await makeScene();
  const { world, account, bucket } = scene;
  await addEntries(account, 300);
  await world.sweep();
  world.advance(2 * HOUR);
  const head = await checkpointOf(account);
  const restore = await saveTables(env.DB);
  const kept = bucket.keys;
  const restoredTo = world.now;
  world.advance(HOUR);
  await addEntries(account, 500);
  await world.sweep();
  const lost = new Map<string, string>();
  for (const key of bucket.keys)
    if (!kept.includes(key)) lost.set(key, await contentOf(bucket, key));
  await restore();
  world.advance(MINUTE);
  await addEntries(account, more);
  return { ...scene, head, kept, restoredTo, lost };
}

/** The SHA-256 digest of an object. */
async function contentOf(bucket: TestBucket, key: string): Promise<string> {
  const object = await bucket.binding.get(key);
  return sha256(new Uint8Array((await object?.arrayBuffer()) ?? []));
}

function ask(
  { world, account }: Pick<Scene, 'world' | 'account'>,
  restoredTo: number,
  shard = '00',
): Promise<Answer> {
  return world.call('PUT', `/v1/admin/users/${account.id}/log/restoration`, {
    token: world.env.ADMIN_TOKEN ?? '',
    body: { shard, restored_to: new Date(restoredTo).toISOString() },
  });
}

async function isRefused({ world, account }: Pick<Scene, 'world' | 'account'>): Promise<boolean> {
  log.clear();
  await env.DB.prepare('update trees set due_at = 0').run();
  await world.sweep();
  return log.of('tree_refused').some((line) => line.account === account.id);
}

/**
 * Checks that the whole log is signed, and that it extends the tree of 300 entries with the given
 * root.
 */
async function expectSealed(
  { world, account }: Pick<Scene, 'world' | 'account'>,
  size: number,
  root?: string,
) {
  world.advance(2 * MINUTE);
  await world.sweep();
  expect((await expectTree(account)).tree_size).toBe(size);
  if (root === undefined) return;
  const { body } = await account.must(200, 'GET', `/v1/audit/consistency?from=300&to=${size}`);
  expect(body.from_root_hash).toBe(root);
}

/** Seals the log, and reads its head and its tiles in R2. */
async function sealedTree({ world, account, bucket }: Pick<Scene, 'world' | 'account' | 'bucket'>) {
  world.advance(3 * MINUTE);
  await world.sweep();
  const { tree_size, root_hash } = await checkpointOf(account);
  const keys = bucket.keys.filter((key) => key.startsWith(`trees/${account.id}/tiles/`));
  return {
    tree_size,
    root_hash,
    tiles: await Promise.all(keys.map(async (key) => [key, await contentOf(bucket, key)])),
  };
}

describe('a log whose database was restored', () => {
  it('is signed again after the later objects in R2 are set aside', async () => {
    const scene = await restoredLog();
    const { world, account, bucket, head, kept, restoredTo, lost } = scene;
    expect(await isRefused(scene)).toBe(true);
    log.clear();
    const answer = await ask(scene, restoredTo);
    expect(answer.body).toEqual({ set_aside: 3, has_more: false });
    expect(answer.cost.trips).toBe(2);
    const shard = '00';
    expect(log.of('tree_set_aside')).toMatchObject([
      { account: account.id, shard, tiles: 2, heads: 1, has_more: false },
    ]);
    const folder = `trees/${account.id}/set-aside/${new Date(restoredTo).toISOString()}`;
    const written = new Date(restoredTo + HOUR).toISOString();
    const aside = ['checkpoints/0000000000000800', 'tiles/0/1', 'tiles/0/2'];
    expect(bucket.keys).toEqual(
      [...kept, ...aside.map((path) => `${folder}/${path}/${written}`)].toSorted(),
    );
    for (const path of aside) {
      const content = await contentOf(bucket, `${folder}/${path}/${written}`);
      expect(content).toBe(lost.get(`trees/${account.id}/${path}`));
    }
    expect((await ask(scene, restoredTo)).body).toEqual({ set_aside: 0, has_more: false });
    await expectSealed(scene, 700, head.root_hash);
    expect((await checkpointOf(account)).note).not.toBe(head.note);
    await world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, {
      token: world.env.ADMIN_TOKEN ?? '',
    });
    world.advance(21 * MINUTE);
    await world.sweep();
    expect(bucket.keys).toEqual([]);
  });

  it('is signed again from its first entry if it was empty at the restored time', async () => {
    const scene = await makeScene();
    const { world, account } = scene;
    const restore = await saveTables(env.DB);
    const restoredTo = world.now;
    await addEntries(account, 300);
    await world.sweep();
    await restore();
    world.advance(MINUTE);
    expect((await ask(scene, restoredTo)).body).toEqual({ set_aside: 2, has_more: false });
    await addEntries(account, 260);
    await expectSealed(scene, 260);
  });

  it('is signed again if its only later object in R2 is a full tile', async () => {
    const scene = await makeScene();
    const { world, account, bucket } = scene;
    await addEntries(account, 10);
    await world.sweep();
    world.advance(MINUTE);
    const restore = await saveTables(env.DB);
    const restoredTo = world.now;
    await addEntries(account, 300);
    await world.sweep();
    await restore();
    world.advance(MINUTE);
    await addEntries(account, 30);
    expect(await isRefused(scene)).toBe(false);
    await addEntries(account, 300);
    expect(await isRefused(scene)).toBe(true);
    expect((await ask(scene, restoredTo)).body).toEqual({ set_aside: 1, has_more: false });
    expect(bucket.keys.some((key) => key.includes('/set-aside/'))).toBe(true);
    await expectSealed(scene, 340);
  });

  it('keeps the tiles of its restored head and no others, on every level', async () => {
    const { restoredTo, ...scene } = await restoredLog();
    const { account, bucket } = scene;
    const tiles = ['0/10', '0/100', '1/0', '1/1', '2/0'].map(
      (path) => `trees/${account.id}/tiles/${path}`,
    );
    for (const key of tiles) await bucket.binding.put(key, Uint8Array.of(1));
    expect((await ask(scene, restoredTo)).body).toEqual({ set_aside: 8, has_more: false });
    const left = bucket.keys.filter((key) => !key.includes('/set-aside/'));
    expect(left).toEqual([
      `trees/${account.id}/checkpoints/0000000000000300`,
      `trees/${account.id}/tiles/0/0`,
    ]);
  });

  it('stays inconsistent until the last of many objects is set aside, and each response says whether more are left', async () => {
    const { restoredTo, head, ...scene } = await restoredLog();
    const { account, bucket } = scene;
    for (let index = 3; index < 600; index++) {
      await bucket.binding.put(`trees/${account.id}/tiles/0/${index}`, new Uint8Array(32 * TILE));
    }
    const seen: unknown[] = [];
    for (let hasMore = true; hasMore; ) {
      expect(await isRefused(scene)).toBe(true);
      scene.outage.arm(null);
      const { body } = await ask(scene, restoredTo);
      expect(scene.outage.calls).toBeLessThan(700);
      seen.push([body.set_aside, body.has_more]);
      hasMore = body.has_more;
      scene.world.advance(3 * MINUTE);
    }
    expect(seen).toEqual([
      [300, true],
      [300, false],
    ]);
    await expectSealed(scene, 700, head.root_hash);
  });
});

describe('a restoration request', () => {
  /** Sends the request, and checks that it changes nothing in the database and in R2. */
  async function askWithoutEffect(
    scene: Pick<Scene, 'world' | 'account' | 'bucket'>,
    restoredTo: number,
  ): Promise<Answer> {
    const before = [scene.bucket.keys, await dumpTables(env.DB)];
    const answer = await ask(scene, restoredTo);
    expect([scene.bucket.keys, await dumpTables(env.DB)]).toEqual(before);
    return answer;
  }

  it('sets nothing aside if the log agrees with R2', async () => {
    const scene = await makeScene();
    expect((await askWithoutEffect(scene, scene.world.now)).body).toEqual({
      set_aside: 0,
      has_more: false,
    });
    await addEntries(scene.account, 300);
    await scene.world.sweep();
    expect((await askWithoutEffect(scene, 0)).body).toEqual({ set_aside: 0, has_more: false });
  });

  it('is rejected for a time in the future', async () => {
    const { restoredTo: _, ...scene } = await restoredLog();
    const { status, body } = await askWithoutEffect(scene, scene.world.now + 1);
    expect([status, body.errors[0].path]).toEqual([400, 'body.restored_to']);
  });

  it('is rejected if a head that the database lacks is more than a minute older than the given time', async () => {
    const { restoredTo, ...scene } = await restoredLog();
    scene.world.advance(HOUR);
    // The database may lack a head that was sealed at most a minute before the restored time.
    const { status, body } = await askWithoutEffect(scene, restoredTo + HOUR + MINUTE + 1);
    expect([status, body.code]).toEqual([409, 'conflict']);
    expect(body.detail).toContain(new Date(restoredTo + HOUR).toISOString());
    expect((await ask(scene, restoredTo + HOUR + MINUTE)).status).toBe(200);
  });

  /** A log that somebody shortened in the database to an older signed head of 10 entries. */
  async function shortened(lost = 300, prepare = ''): Promise<Scene> {
    const scene = await makeScene();
    const { world, account } = scene;
    await addEntries(account, 10);
    await world.sweep();
    const row = await env.DB.prepare('select * from trees').first<Record<string, unknown>>();
    world.advance(HOUR);
    await addEntries(account, lost);
    if (prepare) await env.DB.prepare(prepare).run();
    await world.sweep();
    world.advance(HOUR);
    const { account: number, ...columns } = row ?? {};
    const names = Object.keys(columns);
    await env.DB.prepare(
      `update trees set ${names.map((name) => `${name} = ?`).join()} where account = ?`,
    )
      .bind(...Object.values(columns), number)
      .run();
    await env.DB.prepare(
      "update audit_entries set ip_address = '10.0.0.1' where pos % 4294967296 = 20",
    ).run();
    return scene;
  }

  it('is rejected for a log that somebody shortened in the database', async () => {
    const scene = await shortened();
    expect(await isRefused(scene)).toBe(true);
    expect((await askWithoutEffect(scene, scene.world.now)).body.code).toBe('conflict');
    // Without a later head in R2, the tiles show it.
    await scene.bucket.binding.delete(`trees/${scene.account.id}/checkpoints/0000000000000310`);
    expect((await askWithoutEffect(scene, scene.world.now)).body.code).toBe('conflict');
    expect(await isRefused(scene)).toBe(true);
  });

  it('is rejected for a shortened log even if the database had a head time in the far future', async () => {
    // Too few entries to fill a tile.
    const scene = await shortened(100, `update trees set sealed_at = ${Date.UTC(2100, 0)}`);
    expect(await isRefused(scene)).toBe(true);
    expect((await askWithoutEffect(scene, scene.world.now)).body.code).toBe('conflict');
  });

  it('sets nothing aside if the log is on another shard than the restored one', async () => {
    const { restoredTo, ...scene } = await restoredLog();
    expect((await ask(scene, restoredTo, '01')).body).toEqual({ set_aside: 0, has_more: false });
    expect(await isRefused(scene)).toBe(true);
  });

  it.each([
    ['has another root', 'root = zeroblob(32)'],
    ['has another size and no signature', 'note = null, size = 299'],
    ['has no root', 'root = null'],
  ])('is rejected if the head in the database %s', async (_, change) => {
    const { restoredTo, ...scene } = await restoredLog();
    await env.DB.prepare(`update trees set ${change}`).run();
    const { status, body } = await askWithoutEffect(scene, restoredTo);
    expect([status, body.code]).toEqual([409, 'conflict']);
  });
});

it.each(MODES)(
  'a restoration request can be repeated after any of its calls fails (%s), and the log is refused until it is complete',
  async (mode) => {
    // Too few entries to fill a tile, so only the heads show that the log is inconsistent.
    const { restoredTo, head, lost, ...scene } = await restoredLog(5);
    const { outage, bucket, world } = scene;
    const [restoreTables, refill, startedAt] = [await saveTables(env.DB), bucket.save(), world.now];
    outage.arm(null);
    expect((await ask(scene, restoredTo)).status).toBe(200);
    const { calls } = outage;
    await expectSealed(scene, 305, head.root_hash);
    const expected = await sealedTree(scene);
    expect(calls).toBeGreaterThan(12);
    for (const call of failingCalls(calls, 3, MODES.indexOf(mode))) {
      await restoreTables();
      refill();
      world.now = startedAt;
      outage.arm({ call, mode });
      const { status } = await ask(scene, restoredTo);
      expect([call, status < 300 || status === 500 || status === 503]).toEqual([call, true]);
      outage.arm(null);
      const copies = () => bucket.keys.filter((key) => key.includes('/set-aside/'));
      const isWhole = copies().length === 3 && !bucket.keys.some((key) => lost.has(key));
      world.advance(2 * MINUTE);
      expect([call, await isRefused(scene)]).toEqual([call, !isWhole]);
      expect((await ask(scene, restoredTo)).body).toMatchObject({ has_more: false });
      expect([call, await sealedTree(scene)]).toEqual([call, expected]);
      const contents = await Promise.all(copies().map((key) => contentOf(bucket, key)));
      expect([call, contents.toSorted()]).toEqual([call, [...lost.values()].toSorted()]);
    }
  },
);

describe('a concurrent restoration request', () => {
  /** A log with 600 unsealed entries and nothing to set aside. Sealing writes tiles and a head. */
  async function unsealed(): Promise<Scene> {
    const scene = await makeScene();
    await addEntries(scene.account, 10);
    await scene.world.sweep();
    scene.world.advance(2 * HOUR);
    await addEntries(scene.account, 600);
    return scene;
  }

  it('leaves the same tree between any two calls of a sweep that seals the log', async () => {
    const scene = await unsealed();
    const { outage, bucket, world } = scene;
    const [restoreTables, refill, startedAt] = [await saveTables(env.DB), bucket.save(), world.now];
    outage.arm(null);
    await world.sweep();
    const { calls } = outage;
    await expectSealed(scene, 610);
    const expected = await sealedTree(scene);
    let held = 0;
    // A shallow run tries every second call, because the request holds the log at a few of them
    // only.
    for (let call = 1; call <= calls; call += depth.isExhaustive ? 1 : 2) {
      await restoreTables();
      refill();
      world.now = startedAt;
      outage.before(call, async () => {
        held += (await ask(scene, startedAt)).body.set_aside > 0 ? 1 : 0;
      });
      await world.sweep();
      outage.arm(null);
      expect([call, await sealedTree(scene)]).toEqual([call, expected]);
    }
    expect(held).toBeGreaterThan(0);
  });

  it('leaves the same tree if R2 has a newer head than the database and a sweep runs between its calls', async () => {
    const scene = await unsealed();
    const { outage, bucket, world } = scene;
    const size = async () =>
      (await env.DB.prepare('select size from trees').first<{ size: number }>())?.size;
    const isKept = () =>
      bucket.keys.includes(`trees/${scene.account.id}/checkpoints/0000000000000610`);
    for (let call = 1; !isKept(); call++) {
      outage.arm({ call, mode: 'kill after' });
      await world.sweep();
      await env.DB.prepare('update trees set due_at = 0').run();
    }
    expect(await size()).toBe(10);
    const [restoreTables, refill, startedAt] = [await saveTables(env.DB), bucket.save(), world.now];
    outage.arm(null);
    await world.sweep();
    await expectSealed(scene, 610);
    const expected = await sealedTree(scene);
    for (let call = 1; call <= 10; call++) {
      await restoreTables();
      refill();
      world.now = startedAt;
      outage.before(call, () => world.sweep());
      expect((await ask(scene, startedAt)).status).toBeOneOf([200, 503]);
      outage.arm(null);
      expect([call, await sealedTree(scene)]).toEqual([call, expected]);
    }
  });

  it('leaves the same tree if a sweep or the same request runs between its calls', async () => {
    const { restoredTo, head, ...scene } = await restoredLog();
    const { outage, bucket, world } = scene;
    const [restoreTables, refill, startedAt] = [await saveTables(env.DB), bucket.save(), world.now];
    outage.arm(null);
    await ask(scene, restoredTo);
    const { calls } = outage;
    await expectSealed(scene, 700, head.root_hash);
    const expected = await sealedTree(scene);
    for (const rival of [() => world.sweep(), () => ask(scene, restoredTo)]) {
      for (const call of failingCalls(calls, 2)) {
        await restoreTables();
        refill();
        world.now = startedAt;
        await env.DB.prepare('update trees set due_at = 0').run();
        outage.before(call, rival);
        const { status } = await ask(scene, restoredTo);
        outage.arm(null);
        if (status !== 200) expect((await ask(scene, restoredTo)).status).toBe(200);
        expect([call, await sealedTree(scene)]).toEqual([call, expected]);
      }
    }
  });

  it('deletes nothing if R2 is so slow that the log may be sealed again in the meantime', async () => {
    const { restoredTo, lost, ...scene } = await restoredLog();
    const { world, bucket } = scene;
    const { binding } = bucket;
    const put = binding.put.bind(binding);
    Object.assign(world.env.FILES as R2Bucket, {
      put: (...args: Parameters<typeof put>) => {
        world.advance(MINUTE);
        return put(...args);
      },
    });
    expect((await ask(scene, restoredTo)).body).toEqual({ set_aside: 0, has_more: true });
    for (const key of lost.keys()) expect(bucket.keys).toContain(key);
  });
});

it('an export waits while its log is held, and then completes with a proof', async () => {
  const scene = await makeScene();
  const { world, account } = scene;
  await addEntries(account, 10);
  await env.DB.prepare('update trees set held_until = ?')
    .bind(world.now + 2 * MINUTE)
    .run();
  const id = await startExport(account, { format: 'json', include_details: true });
  await world.work();
  expect((await readExport(account, id)).status).toBe('processing');
  world.advance(HOUR);
  await world.sweep();
  await world.work();
  const { status, proof_url } = await readExport(account, id);
  expect([status, proof_url]).toEqual(['completed', expect.any(String)]);
});

it('a restoration request affects only its own account', async () => {
  const { restoredTo, ...scene } = await restoredLog();
  const other: TestAccount = await scene.world.account();
  expect((await ask({ ...scene, account: other }, restoredTo)).body).toEqual({
    set_aside: 0,
    has_more: false,
  });
  expect(await isRefused(scene)).toBe(true);
});
