import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { endOfHold } from '../../../src/audit/tree/restoration/hold';
import { formatHexId } from '../../../src/lib/typeid';
import { TestBucket } from '../../support/bucket';
import { makeExport, readExport, startExport } from '../../support/exports';
import { FaultyDatabase } from '../../support/faults';
import { watchLog } from '../../support/log';
import { Outage } from '../../support/outage';
import { makeReport } from '../../support/reports';
import { emptyTables } from '../../support/tables';
import { addEntries, checkpointOf, expectSigned, expectTree } from '../../support/tree';
import { type Json, type TestAccount, World } from '../../support/world';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

const log = watchLog();

beforeEach(() => emptyTables(env.DB));

async function makeScene(overrides: Partial<World['env']> = {}) {
  const bucket: TestBucket = new TestBucket(1, 1_000, () => world.now);
  const world: World = new World({ FILES: bucket.binding, ...overrides });
  return { world, bucket, account: await world.account({ plan: 'enterprise' }) };
}

/** A log of `count` entries whose signed head is in R2. */
async function sealed(count: number, overrides: Partial<World['env']> = {}) {
  const scene = await makeScene(overrides);
  await addEntries(scene.account, count);
  await scene.world.sweep();
  return { ...scene, head: await checkpointOf(scene.account) };
}

/**
 * A log whose newest head (seven entries) is not in R2 yet. The newest head in R2 has five entries.
 */
async function sealedTwice() {
  const scene = await sealed(5);
  scene.world.advance(MINUTE);
  await addEntries(scene.account, 2);
  await scene.world.sweep();
  return { ...scene, kept: scene.head, head: await checkpointOf(scene.account) };
}

/** Writes to the database like an attacker who has access to nothing else. */
async function write(sql: string, ...values: unknown[]): Promise<void> {
  const { meta } = await env.DB.prepare(sql)
    .bind(...values)
    .run();
  expect(meta.changes).toBeGreaterThan(0);
}

async function numberOf({ id }: TestAccount): Promise<number> {
  const { results } = await env.DB.prepare('select number, hex(id) as id from accounts').all<{
    number: number;
    id: string;
  }>();
  return results.find((row) => formatHexId('user', row.id) === id)?.number ?? 0;
}

/**
 * Checks that the log is refused everywhere, and that `head`, the last signed one, is shown (null
 * if there is none).
 */
async function expectRefused(account: TestAccount, head: Json): Promise<void> {
  const { world } = account;
  log.clear();
  const shown = await account.call('GET', '/v1/audit/checkpoint');
  expect([shown.status, shown.body]).toEqual(
    head ? [200, head] : [409, expect.objectContaining({ code: 'log_refused' })],
  );
  expect(log.of('tree_refused')).toMatchObject([{ account: account.id }]);
  const [entry] = await account.log();
  const paths = [
    '/v1/audit/consistency?from=0&to=1',
    ...(entry ? [`/v1/audit/${entry.id}/proof`] : []),
  ];
  for (const path of paths) {
    const { status, body } = await account.call('GET', path);
    expect([path, status, body.code]).toEqual([path, 409, 'log_refused']);
  }
  const { shown: made } = await makeExport(account, { format: 'json', include_details: true });
  expect(made).toMatchObject({ status: 'completed', proof_url: null, proof_error: 'log_refused' });
  expect((await makeReport(account)).integrity).toBe(null);
  await (await account.agent()).request();
  await env.DB.prepare('update trees set due_at = 0').run();
  log.clear();
  await world.sweep();
  expect(log.of('tree_refused').map((line) => line.account)).toContain(account.id);
  const later = await account.call('GET', '/v1/audit/checkpoint');
  expect([later.status, later.body.note]).toEqual(head ? [200, head.note] : [409, undefined]);
}

/**
 * Checks that a log is consistent: it has the given head, its entries are proven, and new entries
 * are sealed.
 */
async function expectSound(account: TestAccount, head: Json): Promise<void> {
  const { world } = account;
  log.clear();
  expect(await expectTree(account)).toEqual(head);
  const { shown } = await makeExport(account, { format: 'json', include_details: true });
  expect(shown).toMatchObject({
    status: 'completed',
    proof_url: expect.any(String),
    proof_error: null,
  });
  await (await account.agent()).request();
  await world.sweep();
  expect((await expectTree(account)).tree_size).toBe(head.tree_size + 1);
  expect(log.of('tree_refused')).toEqual([]);
}

describe('the head of another log', () => {
  const COLUMNS = 'size, root, sealed_at, frontier, note';

  it.each([COLUMNS, 'note', 'size, root, frontier'])(
    'is refused in place of the log’s own head (columns %s)',
    async (columns) => {
      const { world, account: victim, head } = await sealed(3);
      const other = await world.account();
      await addEntries(other, 5);
      await world.sweep();
      const [from, to] = [await numberOf(other), await numberOf(victim)];
      await write(
        `update trees set (${columns}) = (select ${columns} from trees where account = ?) where account = ?`,
        from,
        to,
      );
      await expectRefused(victim, head);
    },
  );

  it('is not shown if the log has no head of its own', async () => {
    const { world, account: other } = await sealed(5);
    const victim = await world.account({ plan: 'enterprise' });
    const [from, to] = [await numberOf(other), await numberOf(victim)];
    await write(
      `insert into trees (account, ${COLUMNS}) select ?, ${COLUMNS} from trees where account = ?`,
      to,
      from,
    );
    await expectRefused(victim, null);
  });
});

describe('a head', () => {
  it.each([-DAY, 10 * YEAR])(
    'has the signed time even if the time in the database is changed by %d ms',
    async (shift) => {
      const { world, account, head } = await sealed(5);
      await write('update trees set sealed_at = sealed_at + ?', shift);
      expect(await checkpointOf(account)).toEqual(head);
      world.advance(HOUR);
      await addEntries(account, 1);
      await world.sweep();
      expect((await expectTree(account)).timestamp).toBe(new Date(world.now).toISOString());
    },
  );

  it('of an empty log keeps its time if somebody changes the creation time of the account', async () => {
    const { account } = await makeScene();
    const head = await checkpointOf(account);
    await write('update accounts set created_at = created_at - ?', DAY);
    expect(await checkpointOf(account)).toEqual(head);
  });

  it('with a time in the future is refused until that time', async () => {
    // The head in R2 is a minute older.
    const { world, account, head } = await sealedTwice();
    const { now } = world;
    world.now = now - MINUTE;
    await account.must(200, 'GET', '/v1/audit/consistency?from=0&to=7');
    world.now = now - MINUTE - 1;
    await expectRefused(account, head);
    world.now = now + 2 * HOUR;
    await world.sweep();
    expect((await expectTree(account)).tree_size).toBeGreaterThan(head.tree_size);
  });

  it('with a time in the future is refused if only R2 has it', async () => {
    const database = new FaultyDatabase(env.DB);
    const { world, account } = await sealed(5, { DB: database.binding });
    world.advance(2 * HOUR);
    await addEntries(account, 2);
    database.refuse(/^\s*update trees set\s+size/);
    await world.sweep().catch(() => undefined);
    database.refuse(null);
    const head = await expectTree(account);
    expect(head.tree_size).toBe(7);
    world.advance(-HOUR);
    await expectRefused(account, head);
  });

  it('is not signed again after a key rotation: responses have the original note', async () => {
    const { world, bucket, account, head } = await sealedTwice();
    const ROOT_SECRET = `${new Uint8Array(32).fill(9).toBase64()},${world.env.ROOT_SECRET}`;
    const rotated = new World({ FILES: bucket.binding, ROOT_SECRET });
    rotated.now = world.now;
    const { body } = await rotated.must(200, 'GET', '/v1/audit/checkpoint', {
      token: account.token,
    });
    expect(body).toEqual(head);
    await expectSigned(rotated, body);
  });

  it('keeps its time and note if it is sealed again after a crash', async () => {
    const database = new FaultyDatabase(env.DB);
    const { world, bucket, account } = await makeScene({ DB: database.binding });
    await addEntries(account, 300);
    database.refuse(/^\s*update trees set\s+size/);
    await world.sweep().catch(() => undefined);
    database.refuse(null);
    const [key = ''] = bucket.keys.filter((key) => key.includes('/checkpoints/'));
    const kept = await (await bucket.binding.get(key))?.text();
    // The head in R2 is valid already, although the database does not have it yet.
    const head = await expectTree(account);
    expect([head.tree_size, head.note]).toEqual([300, kept]);
    world.advance(2 * MINUTE);
    await world.sweep();
    expect(await env.DB.prepare('select size from trees').first('size')).toBe(300);
    expect(await expectTree(account)).toEqual(head);
  });

  it('with a former host of the service stays valid, and the next head has the new host', async () => {
    const { world, bucket, account, head } = await sealed(5);
    const moved = new World({ FILES: bucket.binding, PUBLIC_URL: 'https://new.test' });
    moved.now = world.now;
    const read = async () =>
      (await moved.must(200, 'GET', '/v1/audit/checkpoint', { token: account.token })).body;
    expect(await read()).toEqual(head);
    await addEntries(account, 1);
    await moved.sweep();
    expect(await read()).toMatchObject({ tree_size: 6, origin: `new.test/${account.id}` });
  });
});

describe('the publication of a head in R2', () => {
  const checkpoints = (bucket: TestBucket) =>
    bucket.keys.flatMap((key) => Number(/\/checkpoints\/(\d+)$/.exec(key)?.[1]) || []);

  it.each([9e12, 0])(
    'happens an hour after the previous one, whatever time the database has (%d)',
    async (time) => {
      const { world, bucket, account } = await sealed(5);
      const began = world.now;
      const publishedAt = () => write('update trees set published_at = ?', time);
      await publishedAt();
      world.advance(MINUTE);
      await addEntries(account, 2);
      await world.sweep();
      expect(checkpoints(bucket)).toEqual([5]);
      expect(await env.DB.prepare('select due_at from trees').first('due_at')).toBe(began + HOUR);
      await publishedAt();
      world.now = began + HOUR - 1;
      await addEntries(account, 1);
      await world.sweep();
      expect(checkpoints(bucket)).toEqual([5]);
      await publishedAt();
      world.now = began + HOUR;
      await world.sweep();
      expect(checkpoints(bucket)).toEqual([5, 8]);
      expect(await env.DB.prepare('select due_at, published_size from trees').first()).toEqual({
        due_at: null,
        published_size: 8,
      });
    },
  );

  it('happens every hour despite false times in the database, so a log that is reset and changed is refused', async () => {
    const { world, bucket, account } = await sealed(5);
    const before = await env.DB.prepare('select root, frontier from trees').first<
      Record<string, unknown>
    >();
    for (let round = 0; round < 4; round++) {
      await write('update trees set published_at = 9000000000000');
      world.advance(30 * MINUTE);
      await addEntries(account, 2);
      await world.sweep();
    }
    expect(checkpoints(bucket)).toEqual([5, 9, 13]);
    const head = await checkpointOf(account);
    await write("update audit_entries set ip_address = '10.0.0.1' where pos % 4294967296 = 7");
    await write(
      'update trees set size = 5, root = ?, frontier = ?, note = null, published_size = 5, published_at = 0, due_at = 0',
      before?.root,
      before?.frontier,
    );
    await expectRefused(account, head);
  });
});

describe('a hold', () => {
  const LONGEST = 3 * MINUTE;

  it.each([
    ['with the latest end that a request can set prevents sealing', LONGEST, 5],
    ['with a later end is ignored', LONGEST + 1, 6],
    ['with an end in the far future is ignored', YEAR * 1_000, 6],
  ])('%s', async (_, time, size) => {
    const { world, account } = await sealed(5);
    await addEntries(account, 1);
    await write('update trees set held_until = ?', world.now + time);
    const id = await startExport(account, { format: 'json', include_details: true });
    await world.work();
    expect((await readExport(account, id)).status).toBe(size === 5 ? 'processing' : 'completed');
    await world.sweep();
    expect((await expectTree(account)).tree_size).toBe(size);
    world.advance(LONGEST + MINUTE);
    await write('update trees set due_at = 0');
    await world.sweep();
    expect((await expectTree(account)).tree_size).toBe(6);
  });

  it('lasts two minutes, or a millisecond longer if the previous hold has the same end', () => {
    const now = 1_000 * DAY;
    const ends = [0, now, now + MINUTE, now + 2 * MINUTE, now + LONGEST + 1, 9e12];
    expect(ends.map((end) => endOfHold(end, now) - now - 2 * MINUTE)).toEqual([0, 0, 0, 1, 0, 0]);
  });
});

describe('after a signing key is removed', () => {
  const ROOT_SECRET = new Uint8Array(32).fill(9).toBase64();

  /** The same account in a service that has only the new root secret. */
  async function withNewSecret({
    world,
    bucket,
    account,
  }: Awaited<ReturnType<typeof makeScene>>): Promise<TestAccount> {
    const other = new World({ FILES: bucket.binding, ROOT_SECRET });
    other.now = world.now;
    const path = `/v1/admin/users/${account.id}/tokens`;
    const { body } = await other.must(201, 'POST', path, {
      token: other.env.ADMIN_TOKEN ?? '',
      body: {},
    });
    const { token, id } = body;
    return Object.assign(Object.create(Object.getPrototypeOf(account)), {
      world: other,
      id: account.id,
      token,
      tokenId: id,
    });
  }

  it('a head in R2 is signed again by the newest key, with the original time', async () => {
    const scene = await sealed(5);
    const account = await withNewSecret(scene);
    account.world.advance(DAY);
    await env.DB.prepare('update trees set sealed_at = 0').run();
    const { note, ...head } = await checkpointOf(account);
    expect(scene.head).toMatchObject(head);
    expect(note).not.toBe(scene.head.note);
    await expectSigned(account.world, { ...head, note });
    await expectSound(account, { ...head, note });
  });

  it('the head of an empty log differs only in its signature', async () => {
    const scene = await makeScene();
    // A restoration request leaves such a row.
    await write('insert into trees (account, due_at) values (?, 0)', await numberOf(scene.account));
    await scene.world.sweep();
    expect(await env.DB.prepare('select note from trees').first('note')).toEqual(
      expect.any(String),
    );
    const { note, ...before } = await checkpointOf(scene.account);
    const account = await withNewSecret(scene);
    log.clear();
    const head = await checkpointOf(account);
    expect(head).toMatchObject(before);
    expect(head.note).not.toBe(note);
    await expectSound(account, head);
  });

  it('a head that is not in R2 is refused', async () => {
    const { kept, ...scene } = await sealedTwice();
    const account = await withNewSecret(scene);
    const shown = await checkpointOf(account);
    const { note: _, ...head } = kept;
    expect(shown).toMatchObject(head);
    await expectSigned(account.world, shown);
    await expectRefused(account, shown);
  });
});

describe('the database row of a tree', () => {
  const NOTHING = "size = 0, root = null, sealed_at = null, frontier = x''";
  const change = "update audit_entries set ip_address = '10.0.0.1' where pos % 4294967296 = 2";

  it.each([
    ['with another size', 'update trees set size = 6'],
    ['with another root', 'update trees set root = zeroblob(32)'],
    ['without a root', 'update trees set root = null'],
    ['with another frontier', 'update trees set frontier = zeroblob(length(frontier))'],
    ['with a truncated frontier', "update trees set frontier = x'00'"],
    ['without a note', 'update trees set note = null'],
    ['with a forged note', "update trees set note = replace(note, 'time 2026', 'time 2025')"],
    ['that says that nothing is sealed but has a note', `update trees set ${NOTHING}`],
    ['with a published size that R2 does not have', 'update trees set published_size = 6'],
  ])('%s is refused', async (_, sql) => {
    const { account, head, kept } = await sealedTwice();
    await write(sql);
    await expectRefused(account, /note = (null|replace)/.test(sql) ? kept : head);
  });

  it.each([
    ['says that nothing is sealed', `update trees set ${NOTHING}, note = null, published_size = 0`],
    ['is deleted', 'delete from trees'],
  ])('cannot hide a change of the log if it %s', async (_, sql) => {
    const { account, kept } = await sealedTwice();
    await write(change);
    await write(sql);
    await expectRefused(account, kept);
  });

  it('that was lost is rebuilt from the unchanged log, with the head in R2', async () => {
    const { account, head } = await sealed(5);
    await write(`update trees set ${NOTHING}, note = null, published_size = 0, due_at = 0`);
    await expectSound(account, head);
  });

  it('that was reset is refused if an entry under the later head in R2 was changed', async () => {
    const { world, account } = await sealed(5);
    const before = await env.DB.prepare('select * from trees').first<Record<string, unknown>>();
    world.advance(HOUR);
    await addEntries(account, 3);
    await world.sweep();
    const head = await checkpointOf(account);
    const { account: _, ...columns } = before ?? {};
    const set = Object.keys(columns).map((name) => `${name} = ?`);
    await write(`update trees set ${set.join()}`, ...Object.values(columns));
    expect(await expectTree(account)).toEqual(head);
    await write(change.replace('= 2', '= 7'));
    await expectRefused(account, head);
  });

  it('is refused if R2 has another head of the same size', async () => {
    const { world, account, bucket, head } = await sealedTwice();
    const row = await env.DB.prepare('select root, frontier, note from trees').first<
      Record<string, unknown>
    >();
    // Another history of the same size, whose head is now in R2.
    await write(change.replace('= 2', '= 7'));
    const five = await bucket.binding.get(`trees/${account.id}/checkpoints/0000000000000005`);
    await bucket.binding.delete(`trees/${account.id}/checkpoints/0000000000000005`);
    await write(
      `update trees set ${NOTHING}, note = null, published_size = 0, published_at = 0, due_at = 0`,
    );
    await world.sweep();
    await bucket.binding.put(
      `trees/${account.id}/checkpoints/0000000000000005`,
      (await five?.arrayBuffer()) ?? '',
    );
    const other = await checkpointOf(account);
    expect([other.tree_size, other.root_hash === head.root_hash]).toEqual([7, false]);
    await write(
      'update trees set root = ?, frontier = ?, note = ?',
      row?.root,
      row?.frontier,
      row?.note,
    );
    await expectRefused(account, other);
  });

  it('with the note of an erasure is refused', async () => {
    const { world, account } = await sealed(5);
    const agent = await account.agent();
    await agent.request();
    await world.sweep();
    await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    await world.sweep();
    await write('update trees set note = (select note from erased_entries limit 1)');
    const { body } = await account.must(409, 'GET', '/v1/audit/consistency?from=0&to=1');
    expect(body.code).toBe('log_refused');
  });
});

describe('an entry', () => {
  it('that was changed after sealing has no proof, but other entries do', async () => {
    const { account } = await sealed(5);
    const [first, second] = await account.log();
    await write("update audit_entries set ip_address = '10.0.0.1' where pos % 4294967296 = 2");
    log.clear();
    const { body } = await account.must(409, 'GET', `/v1/audit/${second.id}/proof`);
    expect(body.code).toBe('log_refused');
    expect(log.of('tree_refused')).toMatchObject([
      { account: account.id, error: expect.stringContaining('entry 2') },
    ]);
    await account.must(200, 'GET', `/v1/audit/${first.id}/proof`);
  });

  it('that is not sealed yet has no proof: the response is a 409 conflict', async () => {
    const { account } = await sealed(5);
    await addEntries(account, 1);
    const entry = (await account.log()).at(-1);
    expect((await account.must(409, 'GET', `/v1/audit/${entry.id}/proof`)).body.code).toBe(
      'conflict',
    );
  });

  it('that is deleted from the end of a sealed log makes the log refused', async () => {
    const { account, head } = await sealed(5);
    await write('delete from audit_entries where pos % 4294967296 > 3');
    await expectRefused(account, head);
  });
});

it('a log that is sealed while it is read is never reported as refused', async () => {
  const outage = new Outage();
  const bucket: TestBucket = new TestBucket(1, 1_000, () => world.now);
  const world: World = new World({
    DB: outage.database(env.DB),
    FILES: outage.bucket(bucket.binding),
  });
  const account = await world.account({ plan: 'enterprise' });
  await addEntries(account, 5);
  await world.sweep();
  const [entry] = await account.log();
  for (let call = 1; call <= 4; call++) {
    world.advance(HOUR);
    await addEntries(account, 300);
    outage.before(call, () => world.sweep());
    const { status, body } = await account.call('GET', `/v1/audit/${entry.id}/proof`);
    expect([call, status, body.code]).toEqual([call, 200, undefined]);
    outage.arm(null);
  }
  expect(log.of('tree_refused')).toEqual([]);
});

describe('a log that another sealer seals concurrently', () => {
  /**
   * A service whose R2 calls can be interrupted, and another sealer of the same log that is never
   * interrupted.
   */
  async function makeOverlap() {
    const outage = new Outage();
    const bucket: TestBucket = new TestBucket(1, 1_000, () => world.now);
    const world: World = new World({ FILES: outage.bucket(bucket.binding) });
    const account = await world.account({ plan: 'enterprise' });
    await addEntries(account, 5);
    await world.sweep();
    /** Adds an entry, and has the other sealer seal the log. */
    const sealFurther = async (now = world.now) => {
      const other = new World({ FILES: bucket.binding });
      other.now = now;
      await addEntries(account, 1);
      await write('update trees set due_at = 0');
      await other.sweep();
    };
    return { outage, bucket, world, account, sealFurther };
  }

  it('is not refused by a sweep, in any order of calls', async () => {
    const { outage, world, account, sealFurther } = await makeOverlap();
    world.advance(HOUR);
    await addEntries(account, 4);
    outage.arm(null);
    await world.sweep();
    const { calls } = outage;
    for (let call = 1; call <= calls; call++) {
      world.advance(HOUR);
      await addEntries(account, 3);
      outage.before(call, () => sealFurther());
      await world.sweep();
      expect([call, (await checkpointOf(account)).tree_size]).toEqual([call, 9 + 4 * call]);
      expect(await env.DB.prepare('select due_at from trees').first('due_at')).toBe(null);
    }
    expect(calls).toBeGreaterThan(2);
    expect(log.of('tree_refused')).toEqual([]);
    expect(log.of('tree_not_sealed')).toEqual([]);
    await expectTree(account);
  });

  it('is not refused by an export, in any order of calls', async () => {
    const { outage, world, account, sealFurther } = await makeOverlap();
    world.advance(HOUR);
    await addEntries(account, 3);
    outage.arm(null);
    await makeExport(account, { format: 'json', include_details: true });
    const { calls } = outage;
    for (let call = 1; call <= calls; call += 1) {
      world.advance(HOUR);
      await addEntries(account, 3);
      const id = await startExport(account, { format: 'json', include_details: true });
      outage.before(call, () => sealFurther());
      await world.work();
      expect([call, await readExport(account, id)]).toEqual([
        call,
        expect.objectContaining({
          status: 'completed',
          proof_error: null,
          proof_url: expect.any(String),
        }),
      ]);
    }
    expect(calls).toBeGreaterThan(5);
    expect(log.of('tree_refused')).toEqual([]);
  });

  it('is not refused by a report', async () => {
    const { outage, world, account, sealFurther } = await makeOverlap();
    world.advance(HOUR);
    await addEntries(account, 3);
    outage.before(1, () => sealFurther());
    expect((await makeReport(account)).integrity).toMatchObject({ tree_size: 8 });
    expect(log.of('tree_refused')).toEqual([]);
  });

  it('is sealed by the next sweep, and not refused, if it grows during every read', async () => {
    const { outage, world, account, sealFurther } = await makeOverlap();
    let { now } = world;
    world.advance(DAY);
    await addEntries(account, 3);
    // Each read of the log lists the heads and gets the newest one. The other sealer publishes a
    // head per hour.
    const again = async (): Promise<void> => {
      now += HOUR;
      await sealFurther(now);
      outage.before(2, again);
    };
    outage.before(1, again);
    await world.sweep();
    outage.before(0, async () => undefined);
    expect(log.of('tree_refused')).toEqual([]);
    expect(log.of('tree_not_sealed')).toHaveLength(1);
    await world.sweep();
    await expectTree(account);
  });

  it('keeps the row that the other sealer wrote if this one fails', async () => {
    const { outage, world, account, sealFurther } = await makeOverlap();
    world.advance(HOUR);
    await addEntries(account, 3);
    outage.before(1, async () => {
      await sealFurther();
      throw new Error('Network connection lost.');
    });
    await world.sweep();
    expect(log.of('tree_not_sealed')).toHaveLength(1);
    expect(await env.DB.prepare('select size, due_at from trees').first()).toEqual({
      size: 9,
      due_at: null,
    });
  });

  it('gets the proof of an export even if the other sealer writes a smaller tree first', async () => {
    const { world, account } = await makeOverlap();
    const readRow = () =>
      env.DB.prepare('select size, root, frontier, note from trees').first<
        Record<string, unknown>
      >();
    const writeRow = (row: Record<string, unknown> | null) =>
      write(
        'update trees set size = ?, root = ?, frontier = ?, note = ?, due_at = 0',
        ...Object.values(row ?? {}),
      );
    const atFirst = await readRow();
    world.advance(MINUTE);
    await addEntries(account, 2);
    await world.sweep();
    const ofOther = await readRow();
    await writeRow(atFirst);
    await addEntries(account, 1);
    const id = await startExport(account, { format: 'json', include_details: true });
    const bucket = world.env.FILES as R2Bucket;
    const { list } = bucket;
    let before: unknown;
    // Sealing makes this call to R2 first.
    bucket.list = async (options) => {
      before = (await readRow())?.size;
      await writeRow(ofOther);
      bucket.list = list;
      return list(options);
    };
    await world.work();
    expect(before).toBe(5);
    expect(await readExport(account, id)).toMatchObject({ status: 'completed', proof_error: null });
  });
});

it('a log is unavailable, and not refused, while R2 fails', async () => {
  const outage = new Outage();
  const bucket: TestBucket = new TestBucket(1, 1_000, () => world.now);
  const world: World = new World({ FILES: outage.bucket(bucket.binding) });
  const account = await world.account();
  await addEntries(account, 300);
  await world.sweep();
  const [entry] = await account.log();
  for (const path of ['checkpoint', `${entry.id}/proof`, 'consistency?from=1&to=300']) {
    outage.arm(null);
    await account.must(200, 'GET', `/v1/audit/${path}`);
    const { calls } = outage;
    expect(calls).toBeGreaterThan(1);
    for (let call = 1; call <= calls; call += 1) {
      outage.arm({ call, mode: 'before' });
      const { status, body } = await account.call('GET', `/v1/audit/${path}`);
      expect([path, call, status, body.code]).toEqual([path, call, 503, 'unavailable']);
    }
    outage.arm(null);
  }
  expect(log.of('tree_refused')).toEqual([]);
});
