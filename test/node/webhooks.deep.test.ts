import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  answer,
  drips,
  FaultyReceiver,
  floods,
  type RawMessage,
  sends,
  startSelfSigned,
} from '../support/faulty-receiver';
import { Client } from '../support/local/client';
import { fillLog } from '../support/local/fill-log';
import {
  findRuntimes,
  prepareState,
  type Service,
  startService,
  sweep,
} from '../support/local/service';
import { createTenant, type Tenant } from '../support/local/tenant';

const MB = 2 ** 20;
/**
 * Deliveries that a killed worker had claimed are sent again within this time of a sweep, in
 * milliseconds.
 */
const RECOVERY = 30_000;
const HEAD = 'HTTP/1.1 200 OK\r\n';
/**
 * What is recorded of an attempt that the receiver answered with 200, whatever came after the head.
 */
const TAKEN = { status: 'succeeded', code: 200, error: null };

const folder = mkdtempSync(join(tmpdir(), 'countersign-webhooks-'));
let receiver: FaultyReceiver;
let other: FaultyReceiver;

beforeAll(async () => {
  receiver = await FaultyReceiver.start();
  other = await FaultyReceiver.start();
  await prepareState(folder);
});
afterAll(() => {
  receiver.stop();
  other.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

describe('with a running service', () => {
  let service: Service;
  let user: Client;
  let tenant: Tenant;

  beforeAll(async () => {
    const provider = [
      '--var',
      `OIDC_ISSUER:http://127.0.0.1:${other.port}`,
      '--var',
      'OIDC_AUDIENCE:service',
    ];
    service = await startService(folder, undefined, provider);
    tenant = await createTenant(service.origin, 'team', 1);
    user = new Client(service.origin, tenant.token);
  });
  afterAll(() => service.stop());

  async function register(url: string): Promise<{ id: string; secret: string }> {
    return (await user.expect<{ id: string; secret: string }>(201, 'POST', '/v1/webhooks', { url }))
      .body;
  }

  /** Sends a test event to a URL, and returns the record of the first attempt. */
  async function deliverTo(url: string) {
    const { id } = await register(url);
    const started = Date.now();
    const { body: made } = await user.expect<{ id: string }>(
      202,
      'POST',
      `/v1/webhooks/${id}/test`,
    );
    const path = `/v1/webhooks/${id}/deliveries/${made.id}`;
    for (const deadline = started + 60_000; Date.now() < deadline; ) {
      const { body } = await user.get<Delivery>(path);
      if (body.attempts > 0) {
        await user.expect(204, 'DELETE', `/v1/webhooks/${id}`);
        const { status, last_status_code, last_error, attempt_history } = body;
        return {
          status,
          code: last_status_code,
          error: last_error,
          took: attempt_history[0]?.duration_ms ?? 0,
        };
      }
      await pause(50);
    }
    throw new Error(`nothing is recorded of ${url}`);
  }

  const at = (name: string) => `http://127.0.0.1:${receiver.port}/${name}`;

  it.each<[string, (typeof receiver)['faults'] extends Map<string, infer F> ? F : never, object]>([
    ['answers', answer('204 No Content'), { status: 'succeeded', code: 204, error: null }],
    ['resets', (socket) => socket.resetAndDestroy(), failure(null, 'The connection failed.')],
    ['hangs-up', (socket) => socket.destroy(), failure(null, 'The connection failed.')],
    [
      'half-a-head',
      sends('HTTP/1.1 200 OK\r\nContent-Le', true),
      failure(null, 'The connection failed.'),
    ],
    ['no-http', sends('SSH-2.0-OpenSSH_9.6\r\n', true), failure(null, 'The connection failed.')],
    ['half-an-answer', sends(`${HEAD}Content-Length: 100\r\n\r\nhalf`, true), TAKEN],
    ['half-a-chunk', sends(`${HEAD}Transfer-Encoding: chunked\r\n\r\n10\r\nhalf`, true), TAKEN],
    [
      'half-a-gzip',
      (socket) =>
        socket.end(Buffer.concat([head('gzip'), gzipSync(Buffer.alloc(9_999)).subarray(0, 20)])),
      TAKEN,
    ],
    ['no-gzip', (socket) => socket.end(`${head('gzip')}no gzip at all`), TAKEN],
    ['fails', answer('500 Oh'), failure(500, 'The answer was 500.')],
    ['floods-failing', floods('500 Oh', false), failure(500, 'The answer was 500.')],
    ['bombs-failing', floods('500 Oh', true), failure(500, 'The answer was 500.')],
  ])(
    'the first attempt is recorded as documented for the receiver %s',
    async (name, fault, expected) => {
      receiver.faults.set(name, fault);
      expect(await deliverTo(at(name))).toMatchObject(expected);
      expect(receiver.sentTo(name).length).toBeGreaterThan(0);
    },
  );

  it('a closed port is recorded as a failed connection', async () => {
    const closed = await FaultyReceiver.start();
    const { port } = closed;
    closed.stop();
    expect(await deliverTo(`http://127.0.0.1:${port}/`)).toMatchObject(
      failure(null, 'The connection failed.'),
    );
  });

  it('a port without TLS is recorded as a failed secure connection', async () => {
    const { error, ...found } = await deliverTo(`https://localhost:${receiver.port}/no-tls`);
    expect(found).toMatchObject({ status: 'pending', code: null });
    expect(error).toMatch(/^A secure connection could not be made/);
    expect(receiver.sentTo('no-tls')).toEqual([]);
  });

  it.skipIf(spawnSync('openssl', ['version']).error)(
    'a self-signed certificate is not trusted',
    async () => {
      const server = await startSelfSigned(folder);
      try {
        const { error, ...found } = await deliverTo(`https://localhost:${server.port}/`);
        expect(found).toMatchObject({ status: 'pending', code: null });
        expect(error).toMatch(/^A secure connection could not be made/);
        expect(server.count()).toBe(0);
      } finally {
        server.stop();
      }
    },
  );

  it('a redirect to a private address is not followed', async () => {
    for (const status of ['302 Found', '307 Temporary Redirect', '308 Permanent Redirect']) {
      const name = `redirects-${status.slice(0, 3)}`;
      receiver.faults.set(name, answer(status, `Location: http://127.0.0.1:${other.port}/private`));
      const { code, error } = await deliverTo(at(name));
      expect([code, error]).toEqual([
        Number(status.slice(0, 3)),
        `The answer was ${code}; redirects are not followed.`,
      ]);
    }
    expect(other.sentTo('private')).toEqual([]);
  });

  it.each([
    ['an endless response', 'floods', floods('200 OK', false)],
    ['an endless compressed response', 'bombs', floods('200 OK', true)],
  ])(
    'the service stops reading %s, and uses less than 64 MB of memory for it',
    async (_, name, fault) => {
      receiver.faults.set(name, fault);
      // The first delivery allocates what any receiver needs.
      await deliverTo(at('answers'));
      const before = memoryOf(service);
      for (let i = 0; i < 5; i++) {
        expect(await deliverTo(at(name))).toMatchObject({
          status: 'succeeded',
          code: 200,
          error: null,
        });
      }
      expect(memoryOf(service) - before).toBeLessThan(64 * MB);
      for (
        const deadline = Date.now() + 5_000;
        !receiver.written.has(name) && Date.now() < deadline;
      )
        await pause(20);
      // Whatever the receiver could write is in the socket buffers of both ends; compressed bytes
      // stand for a thousand times as many.
      expect(receiver.written.get(name)).toBeLessThan(name === 'bombs' ? 2 * MB : 16 * MB);
    },
  );

  it('an attempt times out after 15 seconds if the receiver sends nothing, or never ends its head', async () => {
    receiver.faults.set('hangs', () => undefined);
    receiver.faults.set('slow-head', drips(HEAD, 'X-Drop: 1\r\n'));
    receiver.faults.set('slow-body', drips(`${HEAD}Content-Length: 9999\r\n\r\n`, '.'));
    expect(await deliverTo(at('slow-body'))).toMatchObject(TAKEN);
    const found = await Promise.all(['hangs', 'slow-head'].map((name) => deliverTo(at(name))));
    expect(found).toMatchObject([
      failure(null, 'No answer within 15 seconds.'),
      failure(null, 'No answer within 15 seconds.'),
    ]);
    for (const { took } of found) {
      expect(took).toBeGreaterThanOrEqual(14_900);
      expect(took).toBeLessThan(20_000);
    }
  });

  it('the reference library verifies deliveries before and after a rotation of the secret', async () => {
    const { id, secret } = await register(at('verified'));
    const agent = new Client(service.origin, tenant.agents[0]?.key ?? '');
    const ask = () =>
      agent.expect(201, 'POST', '/v1/permissions', {
        action: 'mail.send',
        resource: 'mailbox:é😀',
      });
    await ask();
    await until(() => receiver.sentTo('verified').length === 1);
    const { body } = await user.expect<{ secret: string }>(
      200,
      'POST',
      `/v1/webhooks/${id}/rotate-secret`,
    );
    await ask();
    await until(() => receiver.sentTo('verified').length === 2);
    const [before, after] = receiver.sentTo('verified') as [RawMessage, RawMessage];
    const verify = (by: string, message: RawMessage) =>
      new Webhook(by).verify(message.body, message.headers);
    for (const by of [secret, body.secret])
      expect(verify(by, after)).toMatchObject({ event: 'audit.created' });
    expect(verify(secret, before)).toMatchObject({ event: 'audit.created' });
    expect(() => verify(body.secret, before)).toThrow();
  });

  it('a request is answered 503 after about five seconds if the identity provider never ends its response', async () => {
    other.faults.set('.well-known', drips(`${HEAD}Content-Length: 9999\r\n\r\n{`, ' '));
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = {
      iss: `http://127.0.0.1:${other.port}`,
      sub: 'ada',
      aud: 'service',
      exp: 4_102_444_800,
    };
    const token = [part({ alg: 'RS256', kid: 'x' }), part(claims), part({})].join('.');
    const started = Date.now();
    await new Client(service.origin, token).expect(503, 'GET', '/v1/me');
    expect(Date.now() - started).toBeGreaterThan(4_500);
    expect(Date.now() - started).toBeLessThan(9_000);
    await until(() => other.written.has('.well-known'));
  });
});

it('all of a thousand deliveries arrive within 30 s of the next sweep after the process is killed', async () => {
  const ENTRIES = 1_000;
  const prepared = await startService(folder);
  const tenant = await createTenant(prepared.origin, 'team', 1);
  const url = `http://127.0.0.1:${receiver.port}/counted`;
  await new Client(prepared.origin, tenant.token).expect(201, 'POST', '/v1/webhooks', { url });
  await prepared.stop();
  fillLog(folder, ENTRIES);
  const entries = () =>
    new Map(
      receiver.sentTo('counted').map(({ body, headers }) => [idOf(body), headers['webhook-id']]),
    );
  const killed = await startService(folder);
  await sweepUntil(killed, () => receiver.sentTo('counted').length >= ENTRIES / 2);
  await killed.kill();
  expect(entries().size).toBeLessThan(ENTRIES);
  const service = await startService(folder);
  try {
    const started = Date.now();
    await sweep(service);
    while (entries().size < ENTRIES && Date.now() < started + RECOVERY) await pause(20);
    expect(entries().size).toBe(ENTRIES);
    await pause(1_000);
  } finally {
    await service.stop();
  }
  const byEntry = Map.groupBy(receiver.sentTo('counted'), ({ body }) => idOf(body));
  expect(byEntry.size).toBe(ENTRIES);
  for (const messages of byEntry.values()) {
    expect(new Set(messages.map(({ body }) => body)).size).toBe(1);
    expect(new Set(messages.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  }
});

interface Delivery {
  status: string;
  attempts: number;
  last_status_code: number | null;
  last_error: string | null;
  attempt_history: { duration_ms: number }[];
}

function failure(code: number | null, error: string) {
  return { status: 'pending', code, error };
}

function head(encoding: string): Buffer {
  return Buffer.from(`${HEAD}Content-Encoding: ${encoding}\r\nConnection: close\r\n\r\n`);
}

function idOf(body: string): string {
  return (JSON.parse(body) as { data: { id: string } }).data.id;
}

/** The peak memory of the runtime so far, in bytes; 0 if the system does not report it. */
function memoryOf({ pid }: Service): number {
  const peaks = findRuntimes(pid).map(
    (id) => /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1],
  );
  return Math.max(0, ...peaks.map(Number)) * 1_024;
}

/** Runs a sweep each second until `isDone`. */
async function sweepUntil(service: Service, isDone: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 90_000; !isDone() && Date.now() < deadline; ) {
    await sweep(service);
    for (let i = 0; i < 200 && !isDone(); i++) await pause(5);
  }
}

async function until(isDone: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 20_000; !isDone() && Date.now() < deadline; ) await pause(20);
  expect(isDone()).toBe(true);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
