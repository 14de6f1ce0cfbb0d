import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { download, fillLog, makeExport, readExport, sha256, startExport } from '../support/exports';
import { FaultyDatabase } from '../support/faults';
import { type Json, type TestAccount, World } from '../support/world';

interface Scene {
  world: World;
  account: TestAccount;
  url: string;
  bytes: Uint8Array;
  id: string;
}

let scene: Scene;

beforeEach(async () => {
  const world = new World();
  const account = await world.account({ plan: 'enterprise' });
  await fillLog(await account.agent(), 40, 200);
  const { id, shown, bytes } = await makeExport(account, { format: 'csv', include_details: true });
  scene = { world, account, url: shown.download_url, bytes, id };
});

function get(headers: Record<string, string> = {}, method = 'GET') {
  return download(scene.world, scene.url, headers, method);
}

describe('a download', () => {
  it('has its headers, and needs no credential', async () => {
    const { status, headers, bytes } = await get();
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-length': `${scene.bytes.length}`,
      'content-disposition': `attachment; filename="${scene.id}.csv"`,
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-store, no-transform',
      'x-content-type-options': 'nosniff',
      etag: `"${await sha256(bytes)}"`,
    });
    expect(headers.has('Content-Encoding')).toBe(false);
  });

  it.each([
    ['json', 'application/json'],
    ['parquet', 'application/vnd.apache.parquet'],
  ])('of a %s file has the content type %s', async (format, type) => {
    const { shown } = await makeExport(scene.account, { format });
    const { headers } = await download(scene.world, shown.download_url);
    expect(headers.get('Content-Type')).toBe(type);
    expect(headers.get('Content-Disposition')).toContain(`.${format}"`);
  });

  it('by HEAD has the same headers as one by GET, without a body', async () => {
    const whole = await get();
    const { status, headers, bytes } = await get({ Range: 'bytes=0-9' }, 'HEAD');
    expect([status, bytes.length]).toEqual([200, 0]);
    for (const name of [
      'Content-Type',
      'Content-Length',
      'ETag',
      'Content-Disposition',
      'Accept-Ranges',
    ]) {
      expect(headers.get(name)).toBe(whole.headers.get(name));
    }
  });

  it.each<[string, number, number | undefined]>([
    ['bytes=0-0', 0, 1],
    ['bytes=0-99', 0, 100],
    ['bytes=100-', 100, undefined],
    ['bytes=100-199', 100, 200],
    ['bytes=-50', -50, undefined],
    ['bytes=-999999', 0, undefined],
    ['bytes=10-999999', 10, undefined],
    ['Bytes= 5-9 ', 5, 10],
  ])('of the range %s has exactly these bytes', async (Range, start, end) => {
    const { status, headers, bytes } = await get({ Range });
    const expected = scene.bytes.slice(start, end);
    const offset = scene.bytes.length - scene.bytes.slice(start).length;
    expect(status).toBe(206);
    expect(bytes).toEqual(expected);
    expect(headers.get('Content-Length')).toBe(`${expected.length}`);
    expect(headers.get('Content-Range')).toBe(
      `bytes ${offset}-${offset + expected.length - 1}/${scene.bytes.length}`,
    );
  });

  it.each([
    'bytes=',
    'bytes=-',
    'bytes=9-1',
    'bytes=a-b',
    'bytes=0-1,3-4',
    'lines=0-1',
    'bytes 0-1',
    '0-1',
  ])('with the invalid or unsupported range %j has the whole file', async (Range) => {
    const { status, bytes } = await get({ Range });
    expect([status, bytes.length]).toEqual([200, scene.bytes.length]);
  });

  it('of a range beyond the end is answered with 416 and the size', async () => {
    const { length } = scene.bytes;
    for (const Range of [`bytes=${length}-`, `bytes=${length + 5}-${length + 9}`, 'bytes=-0']) {
      const { status, headers, text } = await get({ Range });
      expect([status, JSON.parse(text).code]).toEqual([416, 'range_not_satisfiable']);
      expect(headers.get('Content-Range')).toBe(`bytes */${length}`);
    }
  });

  it('is answered with 410 when the object no longer exists', async () => {
    await env.FILES.delete(`files/${scene.id}/file`);
    const { status, text } = await get();
    expect([status, JSON.parse(text).code]).toEqual([410, 'download_expired']);
  });

  it('resumes only if If-Range has the ETag of the file', async () => {
    const etag = (await get()).headers.get('ETag') ?? '';
    const same = await get({ Range: 'bytes=5-', 'If-Range': etag });
    expect([same.status, same.bytes.length]).toEqual([206, scene.bytes.length - 5]);
    for (const other of ['"other"', `W/${etag}`, 'Sat, 31 Jan 2026 12:00:00 GMT']) {
      expect((await get({ Range: 'bytes=5-', 'If-Range': other })).status).toBe(200);
    }
  });

  it('is answered with 304 if the client already has the file, with or without a range', async () => {
    const etag = (await get()).headers.get('ETag') ?? '';
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, `W/${etag},"other"`, '*']) {
      for (const [method, Range] of [
        ['GET'],
        ['HEAD'],
        ['GET', 'bytes=5-'],
        ['GET', 'bytes=99999999-'],
      ]) {
        const { status, headers, bytes } = await get(
          { 'If-None-Match': known, ...(Range && { Range }) },
          method,
        );
        expect([known, status, headers.get('ETag'), bytes.length]).toEqual([known, 304, etag, 0]);
      }
    }
    for (const other of ['"other"', etag.replaceAll('"', ''), '']) {
      expect((await get({ 'If-None-Match': other })).status).toBe(200);
    }
  });

  it('is recorded once, without an actor, for several ranges', async () => {
    const downloadRecords = async () =>
      (await scene.account.must(200, 'GET', '/v1/activity?action=export.downloaded')).body.data;
    const { shown, id } = await makeExport(scene.account);
    await Promise.all(
      [1, 2, 3].map((n) => download(scene.world, shown.download_url, { Range: `bytes=${n}-` })),
    );
    const records = (await downloadRecords()).filter(({ target }: Json) => target === id);
    expect(records).toMatchObject([{ actor: null, target: id, changes: [] }]);
  });

  it('is recorded once when two downloads are concurrent', async () => {
    const { world, account } = scene;
    const id = await startExport(account);
    await world.work();
    const { download_url } = await readExport(account, id);
    const database = new FaultyDatabase(env.DB);
    database.before(2, () => download(world, download_url));
    const { status } = await download(new World({ DB: database.binding }), download_url);
    const { body } = await account.must(
      200,
      'GET',
      `/v1/activity?action=export.downloaded&target=${id}`,
    );
    expect([status, body.data.length]).toEqual([200, 1]);
  });

  it('is not recorded for HEAD, an unsatisfiable range, or 304', async () => {
    const { world, account } = scene;
    const { body } = await account.must(202, 'POST', '/v1/audit/export', {
      start_date: '2026-01-01',
      end_date: '2026-12-31',
    });
    await world.work();
    const { body: shown } = await account.must(200, 'GET', `/v1/audit/export/${body.export_id}`);
    await download(world, shown.download_url, {}, 'HEAD');
    await download(world, shown.download_url, { Range: 'bytes=99999999-' });
    await download(world, shown.download_url, { 'If-None-Match': '*' });
    const { body: activity } = await account.must(
      200,
      'GET',
      '/v1/activity?action=export.downloaded',
    );
    expect(activity.data.filter(({ target }: Json) => target === body.export_id)).toEqual([]);
  });

  it('has the same URL each time the export is read', async () => {
    const { body } = await scene.account.must(200, 'GET', `/v1/audit/export/${scene.id}`);
    expect(body.download_url).toBe(scene.url);
  });
});

describe('a download URL', () => {
  const changes: [string, (url: URL) => void][] = [
    ['without a signature', (url) => url.searchParams.delete('signature')],
    ['with an empty signature', (url) => url.searchParams.set('signature', '')],
    ['with another signature', (url) => url.searchParams.set('signature', 'A'.repeat(43))],
    ['with a later expiry', (url) => url.searchParams.set('expires', '9999999999999')],
    ['with an additional empty expiry', (url) => url.searchParams.append('expires', '')],
    ['without an expiry', (url) => url.searchParams.delete('expires')],
    ['of another shard', (url) => url.searchParams.set('shard', '01')],
    ['of a shard that does not exist', (url) => url.searchParams.set('shard', 'zz')],
    [
      'of another account',
      (url) => url.searchParams.set('account', 'user_01h455vb4pex5vsknk084sn02q'),
    ],
    [
      'of another export',
      (url) => (url.pathname = '/v1/downloads/export_01h455vb4pex5vsknk084sn02q'),
    ],
    ['of an invalid id', (url) => (url.pathname = '/v1/downloads/x')],
  ];

  it.each(changes)('%s is refused', async (name, change) => {
    const url = new URL(scene.url);
    change(url);
    const { status, text } = await download(scene.world, url.pathname + url.search);
    const expected = name.includes('additional empty')
      ? [400, 'invalid_request']
      : [403, 'invalid_signature'];
    expect([status, JSON.parse(text).code]).toEqual(expected);
  });

  it('is valid only for its shard, even if another shard has the same account', async () => {
    const url = new URL(scene.url);
    url.searchParams.set('shard', '01');
    const world = new World({ DB_01: scene.world.env.DB });
    expect((await download(world, url.pathname + url.search)).status).toBe(403);
  });

  it('is refused while its account is inactive', async () => {
    const { world, account, url } = scene;
    const token = world.env.ADMIN_TOKEN ?? '';
    const path = `/v1/admin/users/${account.id}`;
    await world.must(200, 'PATCH', path, { token, body: { is_active: false } });
    const parsed = new URL(url);
    const answer = await world.call('GET', parsed.pathname + parsed.search);
    expect([answer.status, answer.body.code]).toEqual([403, 'account_inactive']);
    await world.must(200, 'PATCH', path, { token, body: { is_active: true } });
    expect((await download(world, url)).status).toBe(200);
  });

  it('with a wrong signature is refused without a database call', async () => {
    const url = new URL(scene.url);
    url.searchParams.set('expires', '9999999999999');
    const answer = await scene.world.call('GET', url.pathname + url.search);
    expect([answer.status, answer.cost.trips]).toEqual([403, 0]);
  });

  it('stays valid under a new root secret while the old one is configured', async () => {
    const { ROOT_SECRET } = scene.world.env;
    const other = btoa('another root secret, 32 bytes...');
    const both = new World({ ROOT_SECRET: `${other},${ROOT_SECRET}` });
    expect((await download(both, scene.url)).status).toBe(200);
    expect((await download(new World({ ROOT_SECRET: other }), scene.url)).status).toBe(403);
  });

  it('needs one database call once its download is recorded', async () => {
    const { shown } = await makeExport(scene.account);
    const path = new URL(shown.download_url);
    const answer = await scene.world.call('GET', path.pathname + path.search);
    expect(answer.cost.trips).toBe(1);
  });
});
