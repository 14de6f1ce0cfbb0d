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
  const world: World = new World({ DB: outage.database(env.DB), FILES: outage.bucket(bucket.binding) });
  const account = await world.account({ plan: 'enterprise' });
  return { outage, bucket, world, account };
}

type Scene = Awaited<ReturnType<typeof makeScene>>;

/** A log of 300 entries whose database was put back to when it had these, and which has gone on since by some. */
async function putBack(more = 400) {
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
  for (const key of bucket.keys) if (!kept.includes(key)) lost.set(key, await contentOf(bucket, key));
  await restore();
  world.advance(MINUTE);
  await addEntries(account, more);
  return { ...scene, head, kept, restoredTo, lost };
}

/** The digest of an object. */
async function contentOf(bucket: TestBucket, key: string): Promise<string> {
  const object = await bucket.binding.get(key);
  return sha256(new Uint8Array((await object?.arrayBuffer()) ?? []));
}

function ask({ world, account }: Pick<Scene, 'world' | 'account'>, restoredTo: number, shard = '00'): Promise<Answer> {
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

/** Checks that the log is signed as far as it goes, and grew out of a head. */
async function expectSealed({ world, account }: Pick<Scene, 'world' | 'account'>, size: number, root?: string) {
  world.advance(2 * MINUTE);
  await world.sweep();
  expect((await expectTree(account)).tree_size).toBe(size);
  if (root === undefined) return;
  const { body } = await account.must(200, 'GET', `/v1/audit/consistency?from=300&to=${size}`);
  expect(body.from_root_hash).toBe(root);
}

/** Lets the log be signed, and reads what is kept of its tree. */
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
    const scene = await putBack();
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
    expect(bucket.keys).toEqual([...kept, ...aside.map((path) => `${folder}/${path}/${written}`)].toSorted());
    for (const path of aside) {
      const content = await contentOf(bucket, `${folder}/${path}/${written}`);
      expect(content).toBe(lost.get(`trees/${account.id}/${path}`));
    }
    expect((await ask(scene, restoredTo)).body).toEqual({ set_aside: 0, has_more: false });
    await expectSealed(scene, 700, head.root_hash);
    expect((await checkpointOf(account)).note).not.toBe(head.note);
    await world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, { token: world.env.ADMIN_TOKEN ?? '' });
    world.advance(21 * MINUTE);
    await world.sweep();
    expect(bucket.keys).toEqual([]);
  });

  it('is signed again from the beginning if it had no entry at that time', async () => {
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

  it('is signed again if it grew in between while R2 had only full tiles of it', async () => {
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

  it('loses no tile that it needs, on any level', async () => {
    const { restoredTo, ...scene } = await putBack();
    const { account, bucket } = scene;
    const tiles = ['0/10', '0/100', '1/0', '1/1', '2/0'].map((path) => `trees/${account.id}/tiles/${path}`);
    for (const key of tiles) await bucket.binding.put(key, Uint8Array.of(1));
    expect((await ask(scene, restoredTo)).body).toEqual({ set_aside: 8, has_more: false });
    const left = bucket.keys.filter((key) => !key.includes('/set-aside/'));
    expect(left).toEqual([`trees/${account.id}/checkpoints/0000000000000300`, `trees/${account.id}/tiles/0/0`]);
  });

  it('is inconsistent until the last of many objects is set aside, and responses say that there are more', async () => {
    const { restoredTo, head, ...scene } = await putBack();
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

describe('nothing is set aside', () => {
  /** Asks, and checks that nothing changed anywhere. */
  async function askInVain(scene: Pick<Scene, 'world' | 'account' | 'bucket'>, restoredTo: number): Promise<Answer> {
    const before = [scene.bucket.keys, await dumpTables(env.DB)];
    const answer = await ask(scene, restoredTo);
    expect([scene.bucket.keys, await dumpTables(env.DB)]).toEqual(before);
    return answer;
  }

  it('of a log that agrees with R2', async () => {
    const scene = await makeScene();
    expect((await askInVain(scene, scene.world.now)).body).toEqual({ set_aside: 0, has_more: false });
    await addEntries(scene.account, 300);
    await scene.world.sweep();
    expect((await askInVain(scene, 0)).body).toEqual({ set_aside: 0, has_more: false });
  });

  it('for a time in the future', async () => {
    const { restoredTo: _, ...scene } = await putBack();
    const { status, body } = await askInVain(scene, scene.world.now + 1);
    expect([status, body.errors[0].path]).toEqual([400, 'body.restored_to']);
  });

  it('for a time after the one to which the database was restored', async () => {
    const { restoredTo, ...scene } = await putBack();
    scene.world.advance(HOUR);
    // What was sealed up to a minute before may have been unknown to the database still.
    const { status, body } = await askInVain(scene, restoredTo + HOUR + MINUTE + 1);
    expect([status, body.code]).toEqual([409, 'conflict']);
    expect(body.detail).toContain(new Date(restoredTo + HOUR).toISOString());
    expect((await ask(scene, restoredTo + HOUR + MINUTE)).status).toBe(200);
  });

  /** A log that somebody shortened in the database to an older head of 10 entries, which was signed. */
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
    await env.DB.prepare(`update trees set ${names.map((name) => `${name} = ?`).join()} where account = ?`)
      .bind(...Object.values(columns), number)
      .run();
    await env.DB.prepare("update audit_entries set ip_address = '10.0.0.1' where pos % 4294967296 = 20").run();
    return scene;
  }

  it('of a log that somebody shortened before the database was restored', async () => {
    const scene = await shortened();
    expect(await isRefused(scene)).toBe(true);
    expect((await askInVain(scene, scene.world.now)).body.code).toBe('conflict');
    // Where no head was kept meanwhile, the tiles tell.
    await scene.bucket.binding.delete(`trees/${scene.account.id}/checkpoints/0000000000000310`);
    expect((await askInVain(scene, scene.world.now)).body.code).toBe('conflict');
    expect(await isRefused(scene)).toBe(true);
  });

  it('of a log that somebody shortened, even with heads of a later time', async () => {
    // Too few to fill a tile.
    const scene = await shortened(100, `update trees set sealed_at = ${Date.UTC(2100, 0)}`);
    expect(await isRefused(scene)).toBe(true);
    expect((await askInVain(scene, scene.world.now)).body.code).toBe('conflict');
  });

  it('of a log on another shard than the restored one', async () => {
    const { restoredTo, ...scene } = await putBack();
    expect((await ask(scene, restoredTo, '01')).body).toEqual({ set_aside: 0, has_more: false });
    expect(await isRefused(scene)).toBe(true);
  });

  it.each([
    ['is another', 'root = zeroblob(32)'],
    ['was signed by nobody', 'note = null, size = 299'],
    ['has no root', 'root = null'],
  ])('where the head in the database %s', async (_, change) => {
    const { restoredTo, ...scene } = await putBack();
    await env.DB.prepare(`update trees set ${change}`).run();
    const { status, body } = await askInVain(scene, restoredTo);
    expect([status, body.code]).toEqual([409, 'conflict']);
  });
});

it.each(MODES)(
  'a failure "%s" of any call leaves the log refused or whole, and the call can be sent again',
  async (mode) => {
    // Too few entries to fill a tile: it is by its heads alone that the log is refused.
    const { restoredTo, head, lost, ...scene } = await putBack(5);
    const { outage, bucket, world } = scene;
    const [putAllBack, refill, begun] = [await saveTables(env.DB), bucket.save(), world.now];
    outage.arm(null);
    expect((await ask(scene, restoredTo)).status).toBe(200);
    const { calls } = outage;
    await expectSealed(scene, 305, head.root_hash);
    const expected = await sealedTree(scene);
    expect(calls).toBeGreaterThan(12);
    for (const call of failingCalls(calls, 3, MODES.indexOf(mode))) {
      await putAllBack();
      refill();
      world.now = begun;
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

describe('at the same time', () => {
  /** A log of which there is more to seal, tiles and a head, and nothing to set aside. */
  async function unsealed(): Promise<Scene> {
    const scene = await makeScene();
    await addEntries(scene.account, 10);
    await scene.world.sweep();
    scene.world.advance(2 * HOUR);
    await addEntries(scene.account, 600);
    return scene;
  }

  it('no tile is lost while the log is sealed, in any order of calls', async () => {
    const scene = await unsealed();
    const { outage, bucket, world } = scene;
    const [putAllBack, refill, begun] = [await saveTables(env.DB), bucket.save(), world.now];
    outage.arm(null);
    await world.sweep();
    const { calls } = outage;
    await expectSealed(scene, 610);
    const expected = await sealedTree(scene);
    let held = 0;
    // Not fewer in a shallow run: the log is held for a few of these calls only.
    for (let call = 1; call <= calls; call += depth.isExhaustive ? 1 : 2) {
      await putAllBack();
      refill();
      world.now = begun;
      outage.before(call, async () => {
        held += (await ask(scene, begun)).body.set_aside > 0 ? 1 : 0;
      });
      await world.sweep();
      outage.arm(null);
      expect([call, await sealedTree(scene)]).toEqual([call, expected]);
    }
    expect(held).toBeGreaterThan(0);
  });

  it('a tree that R2 has already but its row does not yet is not mistaken for another', async () => {
    const scene = await unsealed();
    const { outage, bucket, world } = scene;
    const size = async () => (await env.DB.prepare('select size from trees').first<{ size: number }>())?.size;
    const isKept = () => bucket.keys.includes(`trees/${scene.account.id}/checkpoints/0000000000000610`);
    for (let call = 1; !isKept(); call++) {
      outage.arm({ call, mode: 'kill after' });
      await world.sweep();
      await env.DB.prepare('update trees set due_at = 0').run();
    }
    expect(await size()).toBe(10);
    const [putAllBack, refill, begun] = [await saveTables(env.DB), bucket.save(), world.now];
    outage.arm(null);
    await world.sweep();
    await expectSealed(scene, 610);
    const expected = await sealedTree(scene);
    for (let call = 1; call <= 10; call++) {
      await putAllBack();
      refill();
      world.now = begun;
      outage.before(call, () => world.sweep());
      expect((await ask(scene, begun)).status).toBeOneOf([200, 503]);
      outage.arm(null);
      expect([call, await sealedTree(scene)]).toEqual([call, expected]);
    }
  });

  it('a log that is being sealed when the request comes loses no tile either', async () => {
    const { restoredTo, head, ...scene } = await putBack();
    const { outage, bucket, world } = scene;
    const [putAllBack, refill, begun] = [await saveTables(env.DB), bucket.save(), world.now];
    outage.arm(null);
    await ask(scene, restoredTo);
    const { calls } = outage;
    await expectSealed(scene, 700, head.root_hash);
    const expected = await sealedTree(scene);
    for (const rival of [() => world.sweep(), () => ask(scene, restoredTo)]) {
      for (const call of failingCalls(calls, 2)) {
        await putAllBack();
        refill();
        world.now = begun;
        await env.DB.prepare('update trees set due_at = 0').run();
        outage.before(call, rival);
        const { status } = await ask(scene, restoredTo);
        outage.arm(null);
        if (status !== 200) expect((await ask(scene, restoredTo)).status).toBe(200);
        expect([call, await sealedTree(scene)]).toEqual([call, expected]);
      }
    }
  });

  it('with a slow R2, nothing is deleted once the log may be sealed again', async () => {
    const { restoredTo, lost, ...scene } = await putBack();
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

it('a file waits while its log is held, and then has its proof', async () => {
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

it('concerns only one account', async () => {
  const { restoredTo, ...scene } = await putBack();
  const other: TestAccount = await scene.world.account();
  expect((await ask({ ...scene, account: other }, restoredTo)).body).toEqual({ set_aside: 0, has_more: false });
  expect(await isRefused(scene)).toBe(true);
});
