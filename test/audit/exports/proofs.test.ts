import { env } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import type { JobSizes } from '../../../src/files/job-context';
import { TestBucket } from '../../support/bucket';
import { depth } from '../../support/depth';
import {
  download,
  finishFile,
  makeExport,
  parseFile,
  readExport,
  startExport,
} from '../../support/exports';
import { failingCalls, MODES } from '../../support/failing-calls';
import { rootOf } from '../../support/merkle';
import { Outage } from '../../support/outage';
import { deliver } from '../../support/queue';
import { emptyTables } from '../../support/tables';
import { addEntries, expectSigned, isSigned, leafOf } from '../../support/tree';
import { type Json, type TestAccount, World } from '../../support/world';

const DAY = 24 * 3_600_000;
const KIB = 2 ** 10;
const SMALL: JobSizes = {
  part: 16 * KIB,
  sliceRows: 50,
  sliceBytes: 12 * KIB,
  slices: 2,
  batchRows: 40,
};

beforeEach(() => emptyTables(env.DB));

async function makeScene(overrides: Partial<World['env']> = {}) {
  const bucket = new TestBucket(16 * KIB, 1_000);
  const world = new World({ FILES: bucket.binding, ...overrides });
  const account = await world.account({ plan: 'enterprise' });
  return { world, account, bucket };
}

async function readProof(world: World, shown: Json): Promise<Json> {
  const file = await download(world, shown.proof_url);
  expect(file.status).toBe(200);
  return JSON.parse(file.text);
}

/** Checks a proof against its file, with an independent implementation of the tree. */
async function expectProven(world: World, shown: Json, bytes: Uint8Array): Promise<Json> {
  const proof = await readProof(world, shown);
  const { start_date, end_date, agent_id, event_types } = shown;
  const { action, resource, decided_by, scope_key, scope_min, scope_max } = shown;
  const details = { action, resource, decided_by, scope_key, scope_min, scope_max };
  expect(proof).toMatchObject({
    version: 1,
    export_id: shown.export_id,
    format: shown.format,
    sha256: shown.sha256,
    row_count: shown.row_count,
    request: { start_date, end_date, agent_id, event_types, ...details },
  });
  await expectSigned(world, proof.checkpoint);
  const rows = await parseFile(shown.format, bytes);
  const proven = proof.tree.filter(([, second]: Json) => typeof second === 'string');
  expect(proven.map(([sequence]: Json) => sequence)).toEqual(rows.map(({ sequence }) => sequence));
  for (const [i, { action: _, resource: __, ...entry }] of rows.entries()) {
    const [, salt, leaf] = proven[i];
    expect(leafOf(entry, salt).toHex()).toBe(leaf);
  }
  let at = 0;
  for (const [first, second] of proof.tree) {
    expect(first).toBe(at + 1);
    at = typeof second === 'string' ? first : second;
  }
  expect(at).toBe(proof.checkpoint.tree_size);
  expect(rootOfSpans(proof.tree).toHex()).toBe(proof.checkpoint.root_hash);
  return proof;
}

/** The root of a tree from its spans, each of which is a complete subtree. */
function rootOfSpans(tree: Json[]): Uint8Array {
  const peaks: { count: number; hash: Uint8Array }[] = [];
  for (const [first, second, third] of tree) {
    let node =
      typeof second === 'string'
        ? { count: 1, hash: third }
        : { count: second - first + 1, hash: third };
    node = { ...node, hash: Uint8Array.fromHex(node.hash) };
    while (peaks.at(-1)?.count === node.count) {
      const left = peaks.pop();
      node = { count: node.count * 2, hash: rootOf([left?.hash as Uint8Array, node.hash]) };
    }
    peaks.push(node);
  }
  if (peaks.length === 0) return rootOf([]);
  return peaks.reduceRight<Uint8Array | null>(
    (right, { hash }) => (right ? rootOf([hash, right]) : hash),
    null,
  ) as Uint8Array;
}

it.each(['json', 'parquet'])(
  'the proof of a %s export with details proves each entry against a signed head',
  async (format) => {
    const { world, account } = await makeScene();
    await addEntries(account, 700);
    const { shown, bytes } = await makeExport(account, { format, include_details: true });
    // The export sealed the log itself, before any sweep.
    const proof = await expectProven(world, shown, bytes);
    expect(proof.checkpoint.tree_size).toBe(700);
    expect(proof.tree).toHaveLength(700);
    expect(proof.erased).toEqual([]);
  },
);

it('the proof of a part of the log covers the rest with as few nodes as possible', async () => {
  const { world, account } = await makeScene();
  await addEntries(account, 600);
  const rare = await account.agent();
  await rare.request();
  await addEntries(account, 500);
  const { shown, bytes } = await makeExport(account, {
    format: 'json',
    include_details: true,
    agent_id: rare.id,
  });
  const proof = await expectProven(world, shown, bytes);
  expect(shown.row_count).toBe(1);
  expect(proof.tree.length).toBeLessThan(20);
  const nothing = {
    format: 'json',
    include_details: true,
    start_date: '2020-01-01',
    end_date: '2020-01-02',
  };
  const empty = await makeExport(account, nothing);
  const { tree } = await expectProven(world, empty.shown, empty.bytes);
  expect(tree.map(([first, last]: Json) => [first, last])).toEqual([
    [1, 1_024],
    [1_025, 1_088],
    [1_089, 1_096],
    [1_097, 1_100],
    [1_101, 1_101],
  ]);
});

it('the proof of entries with some details has the filters', async () => {
  const { world, account } = await makeScene();
  const agent = await account.agent();
  for (const amount of [3, 3.5, 4])
    await agent.request({ action: 'pay.out', resource: 'bank:1', scope: { amount } });
  for (const format of ['json', 'parquet']) {
    const { shown, bytes } = await makeExport(account, {
      format,
      include_details: true,
      action: 'pay.out',
      resource: 'bank:*',
      scope_key: 'amount',
      scope_min: 3.25,
      scope_max: 3.75,
    });
    const { tree } = await expectProven(world, shown, bytes);
    expect(tree.map(([first]: Json) => first)).toEqual([1, 2, 3]);
    expect(shown.row_count).toBe(1);
  }
});

it('the proof of an empty log is valid and has no nodes', async () => {
  const { world, account } = await makeScene();
  const { shown, bytes } = await makeExport(account, { format: 'json', include_details: true });
  expect((await expectProven(world, shown, bytes)).tree).toEqual([]);
});

it('an export without complete entries has no proof', async () => {
  const { account } = await makeScene();
  await (await account.agent()).request();
  for (const fields of [
    { format: 'csv', include_details: true },
    { format: 'json' },
    { format: 'parquet' },
  ]) {
    const { shown } = await makeExport(account, fields);
    expect([shown.status, 'proof_url' in shown]).toEqual(['completed', false]);
  }
});

it('a proof lists all of 120 erasure records', async () => {
  const { world, account } = await makeScene();
  await addEntries(account, 20);
  await world.sweep();
  const insert = env.DB.prepare(
    "insert into erased_entries (account, reason, ranges, erased_at) values ((select max(number) from accounts), ?, '[[1,2],[4,4]]', ?)",
  );
  await env.DB.batch(Array.from({ length: 120 }, (_, i) => insert.bind(i % 2, world.now)));
  const { shown, bytes } = await makeExport(
    account,
    { format: 'json', include_details: true },
    SMALL,
  );
  const { erased } = await expectProven(world, shown, bytes);
  expect(erased).toHaveLength(120);
  const erased_at = new Date(world.now).toISOString();
  expect(erased.slice(0, 2)).toEqual([
    {
      reason: 'agent_deleted',
      erased_at,
      note: '',
      ranges: [
        [1, 2],
        [4, 4],
      ],
    },
    {
      reason: 'retention',
      erased_at,
      note: '',
      ranges: [
        [1, 2],
        [4, 4],
      ],
    },
  ]);
});

it('a proof lists entries that are hidden but not erased yet, in signed records', async () => {
  const { world, account } = await makeScene();
  await addEntries(account, 5);
  world.advance(2_000 * DAY);
  const [leaving, staying] = [await account.agent(), await account.agent()];
  for (const agent of [leaving, leaving, staying, leaving, staying]) await agent.request();
  await env.DB.prepare('update accounts set audit_retention_days = 30').run();
  await account.must(204, 'DELETE', `/v1/agents/${leaving.id}`);
  const { shown, bytes } = await makeExport(account, { format: 'json', include_details: true });
  const { erased, checkpoint } = await expectProven(world, shown, bytes);
  const expected = [
    { reason: 'retention', erased_at: null, ranges: [[1, 5]] },
    {
      reason: 'agent_deleted',
      erased_at: null,
      ranges: [
        [6, 7],
        [9, 9],
      ],
    },
  ];
  expect(erased).toMatchObject(expected);
  for (const record of erased) await expectErasureSigned(account, record, checkpoint.timestamp);
});

it('a proof does not report entries as expired if somebody deleted them from the database', async () => {
  const { world, account } = await makeScene();
  await addEntries(account, 5);
  world.advance(2_000 * DAY);
  await addEntries(account, 20);
  await world.sweep();
  await env.DB.prepare('update accounts set audit_retention_days = 30').run();
  const deleteUpTo = (sequence: number) =>
    env.DB.prepare('delete from audit_entries where pos % 4294967296 <= ?').bind(sequence).run();
  const erasedNow = async () => {
    const { shown, bytes } = await makeExport(account, { format: 'json', include_details: true });
    return (await expectProven(world, shown, bytes)).erased.map(({ ranges }: Json) => ranges);
  };
  await deleteUpTo(2);
  expect(await erasedNow()).toEqual([[[3, 5]]]);
  await deleteUpTo(9);
  expect(await erasedNow()).toEqual([]);
});

it.each(['agent', 'plan'])(
  'a proof has the erasure records that were signed at the time of the erasure (cause: %s)',
  async (cause) => {
    const { world, account } = await makeScene();
    await addEntries(account, 3);
    const agent = await account.agent();
    for (let i = 0; i < 4; i++) await agent.request();
    await world.sweep();
    if (cause === 'agent') {
      await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    } else {
      world.advance(2_000 * DAY);
      await (await account.agent()).request();
      await env.DB.prepare(
        'update accounts set audit_retention_days = 30, retention_due_at = 0',
      ).run();
      await world.clean();
    }
    await world.sweep();
    const { shown, bytes } = await makeExport(account, { format: 'json', include_details: true });
    const { erased } = await expectProven(world, shown, bytes);
    const [reason, ranges] =
      cause === 'agent' ? ['agent_deleted', [[4, 7]]] : ['retention', [[1, 7]]];
    const erased_at = new Date(world.now).toISOString();
    expect(erased).toMatchObject([{ reason, erased_at, ranges }]);
    await expectErasureSigned(account, erased[0], erased_at);
  },
);

/** Checks the signed note of an erasure record with the public keys only. */
async function expectErasureSigned(
  account: TestAccount,
  record: Json,
  time: string,
): Promise<void> {
  const { reason, erased_at, ranges, note } = record;
  const places = ranges.map((range: number[]) => range.join('-')).join(' ');
  const what = `${erased_at === null ? 'hidden' : 'erased'} ${time}`;
  const origin = `${new URL(account.world.env.PUBLIC_URL ?? '').host}/${account.id}`;
  const text = ['countersign/erasure/v1', origin, reason, what, places, ''].join('\n');
  expect(note.split('\n\n')[0]).toBe(text.slice(0, -1));
  expect(await isSigned(account.world, text, origin, note)).toBe(true);
}

it.runIf(depth.isDeep)(
  'an export seals a long log in several jobs without a failed attempt',
  async () => {
    const { world, account } = await makeScene();
    const agent = await account.agent();
    await agent.request();
    await addEntries(account, 20_000);
    const id = await startExport(account, {
      format: 'json',
      include_details: true,
      agent_id: agent.id,
    });
    const sealed = async () =>
      (await env.DB.prepare('select size from trees').first<{ size: number }>())?.size;
    const sizes: unknown[] = [];
    for (let bodies = world.queue.take(); bodies.length > 0; bodies = world.queue.take()) {
      await deliver(bodies, world.env, world.runtime);
      sizes.push(await sealed());
      const { attempts } =
        (await env.DB.prepare('select attempts from files').first<{ attempts: number }>()) ?? {};
      if (bodies.length > 0 && (await readExport(account, id)).status === 'processing')
        expect(attempts).toBe(0);
    }
    // The first job writes the file, the second one seals a part, the third one seals the rest and
    // writes the proof.
    expect(sizes).toEqual([0, 16_384, 20_001]);
    const shown = await readExport(account, id);
    const { bytes } = await download(world, shown.download_url);
    await expectProven(world, shown, bytes);
  },
);

it('the proof is missing if the log is inconsistent, but the export completes', async () => {
  const { world, account } = await makeScene();
  const agent = await account.agent();
  for (let i = 0; i < 4; i++) await agent.request();
  await world.sweep();
  await env.DB.prepare('delete from audit_entries where pos % 4294967296 > 2').run();
  const { shown } = await makeExport(account, { format: 'json', include_details: true });
  // The log is now shorter than its signed head.
  expect(shown.status).toBe('completed');
  await env.DB.prepare(
    "update trees set size = 0, root = null, frontier = x'', published_size = 0",
  ).run();
  const again = await makeExport(account, { format: 'json', include_details: true });
  expect([again.shown.status, again.shown.proof_url]).toEqual(['completed', null]);
});

it('a proof has its own download URL, which gives no access to the file, and is deleted with the file', async () => {
  const { world, account, bucket } = await makeScene();
  const agent = await account.agent();
  await agent.request();
  const { id, shown } = await makeExport(account, { format: 'json', include_details: true });
  const proof = await download(world, shown.proof_url);
  expect(proof.headers.get('Content-Type')).toBe('application/json');
  expect(proof.headers.get('Content-Disposition')).toBe(`attachment; filename="${id}.proof.json"`);
  expect(proof.headers.get('Content-Length')).toBe(`${proof.bytes.length}`);
  const part = await download(world, shown.proof_url, { Range: 'bytes=0-9' });
  expect([part.status, part.text]).toEqual([206, proof.text.slice(0, 10)]);
  expect(
    (await download(world, shown.proof_url.replace('document=proof', 'document=file'))).status,
  ).toBe(403);
  expect((await download(world, `${shown.download_url}&document=proof`)).status).toBe(403);
  const { body } = await account.must(200, 'GET', '/v1/activity?action=export.downloaded');
  // Only the download of the file is recorded, because the proof has no content of entries.
  expect(body.data).toHaveLength(1);
  await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
  expect((await download(world, shown.proof_url)).status).toBe(410);
  world.advance(21 * 60_000);
  await world.sweep();
  expect(bucket.keys.filter((key) => key.startsWith('files/'))).toEqual([]);
});

async function settled(account: TestAccount, id: string): Promise<Json> {
  const shown = await finishFile(account.world, () => readExport(account, id), SMALL);
  expect(shown.status).toBe('completed');
  return shown;
}

it.runIf(depth.isDeep).each(MODES)(
  'a proof is the same after any call fails (%s)',
  async (mode) => {
    const outage = new Outage();
    const bucket = new TestBucket(16 * KIB, 1_000);
    const { world, account } = await makeScene({
      DB: outage.database(env.DB),
      FILES: outage.bucket(bucket.binding),
    });
    await addEntries(account, 160);
    await world.sweep();
    const order = { format: 'json', include_details: true };
    const ordered = await startExport(account, order);
    outage.arm(null);
    await world.work(SMALL);
    const calls = outage.calls;
    const shown = await readExport(account, ordered);
    const expected = await readProof(world, shown);
    for (const call of failingCalls(calls, 4, MODES.indexOf(mode))) {
      const id = await startExport(account, order);
      outage.arm({ call, mode });
      await world.work(SMALL).catch(() => undefined);
      outage.arm(null);
      const { export_id, ...proof } = await readProof(world, await settled(account, id));
      expect({ ...proof, export_id: ordered }).toEqual(expected);
      await world.sweep();
      expect(bucket.openUploads).toEqual([]);
      const keys = bucket.keys.filter((key) => key.includes(id));
      expect(keys).toEqual([`files/${id}/file`, `files/${id}/proof`]);
    }
  },
  120_000,
);
