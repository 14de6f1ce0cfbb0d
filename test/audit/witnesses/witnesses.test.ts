import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { JsonObject } from '../../../src/packages/verify/core/json';
import { parseNote } from '../../../src/packages/verify/core/note';
import {
  findCosignatures,
  isQuorum,
  readWitnessPolicy,
} from '../../../src/packages/verify/core/witness-policy';
import { readReceipt } from '../../../src/packages/verify/receipt';
import { depth } from '../../support/depth';
import { answers, hang, type Receiver } from '../../support/internet';
import { errorsDuring } from '../../support/log';
import { emptyTables } from '../../support/tables';
import { checkpointOf, expectSigned, expectTree } from '../../support/tree';
import { TestWitness } from '../../support/witness';
import { type Json, type TestAccount, type TestAgent, World } from '../../support/world';

const HOUR = 3_600_000;
const MINUTE = 60_000;

beforeEach(() => emptyTables(env.DB));

interface Scene {
  world: World;
  account: TestAccount;
  agent: TestAgent;
  /** An account that is not witnessed. */
  other: TestAccount;
  ann: TestWitness;
  ben: TestWitness;
}

/** Two accounts, of which the second is witnessed, and two witnesses that know its log. */
async function makeScene(): Promise<Scene> {
  const now = { at: () => 0 };
  const [ann, ben] = [
    await TestWitness.make('ann', () => now.at()),
    await TestWitness.make('ben', () => now.at()),
  ];
  const world = new World({ WITNESSES: `# Ours\n${await ann.line()}\n${await ben.line()}\n` });
  now.at = () => world.now;
  for (const witness of [ann, ben]) world.internet.on(witness.host, witness.receive);
  const other = await world.account({ plan: 'enterprise' });
  await (await other.agent()).approved();
  const account = await world.account({ plan: 'enterprise' });
  await mark(account, true);
  const { verifier_key } = await checkpointOf(account);
  for (const witness of [ann, ben]) await witness.register(verifier_key);
  return { world, account, agent: await account.agent(), other, ann, ben };
}

async function mark({ world, id }: TestAccount, witnessed: boolean): Promise<Json> {
  const token = world.env.ADMIN_TOKEN ?? '';
  const body = { witnessed };
  return (await world.must(200, 'PATCH', `/v1/admin/users/${id}`, { token, body })).body;
}

/** Seals and publishes the log, and lets its head be sent. */
async function publish({ world, agent }: Pick<Scene, 'world' | 'agent'>, requests = 1) {
  for (let i = 0; i < requests; i++) await agent.request({ expires_in: 86_400 });
  world.advance(HOUR);
  await world.sweep();
}

async function cosigned(account: TestAccount): Promise<Json> {
  return (await account.must(200, 'GET', '/v1/audit/checkpoint?witnessed=true')).body;
}

/** The names of the witnesses that cosigned a checkpoint, by the verifier. */
async function witnessesOf({ ann, ben }: Scene, { note }: Json): Promise<string[]> {
  const policy = await readWitnessPolicy(
    `${await ann.line()}\n${await ben.line()}\ngroup both all ann ben\nquorum both\n`,
  );
  const names = (await findCosignatures(parseNote(note), policy)).map(({ witness }) => witness);
  expect(isQuorum(policy, new Set(names))).toBe(names.length === 2);
  return names;
}

function withoutCosignatures(checkpoint: Json): Json {
  return { ...checkpoint, note: checkpoint.note.split('— ann')[0] };
}

describe('the heads of a witnessed log', () => {
  it('are cosigned by every witness once they are published, each with a proof from the last', async () => {
    const scene = await makeScene();
    const { world, account, ann } = scene;
    await publish(scene, 3);
    const first = await cosigned(account);
    expect(await witnessesOf(scene, first)).toEqual(['ann', 'ben']);
    await publish(scene, 5);
    const second = await cosigned(account);
    expect(second.tree_size).toBe(8);
    expect(await witnessesOf(scene, second)).toEqual(['ann', 'ben']);
    expect(ann.requests.map((request) => request.split('\n')[0])).toEqual(['old 0', 'old 3']);
    // The published head itself never changes.
    expect((await checkpointOf(account)).note).toBe(withoutCosignatures(second).note);
    await world.sweep();
    expect(ann.requests).toHaveLength(2);
    await expectTree(account);
  });

  it('are sent only for accounts that the operator marked', async () => {
    const scene = await makeScene();
    const { account, other, ann } = scene;
    await publish(scene);
    await other.must(404, 'GET', '/v1/audit/checkpoint?witnessed=true');
    expect(await checkpointOf(other)).not.toHaveProperty('verifier_key');
    expect(await checkpointOf(account)).toHaveProperty('verifier_key');
    expect((await other.must(200, 'GET', '/v1/me')).body.witnessed).toBe(false);
    expect(ann.requests.every((request) => request.includes(account.id))).toBe(true);
    expect((await mark(account, false)).witnessed).toBe(false);
    await publish(scene);
    expect(ann.requests).toHaveLength(1);
  });

  it.runIf(depth.isDeep)(
    'are cosigned also if the service crashed before it recorded the cosignatures it kept',
    async () => {
      const scene = await makeScene();
      const { world, account, ann } = scene;
      await publish(scene);
      await env.DB.exec(
        'update trees set witnessed_size = 0, cosigned_size = 0, witness_due_at = 0',
      );
      await account.must(404, 'GET', '/v1/audit/checkpoint?witnessed=true');
      await world.sweep();
      expect(await witnessesOf(scene, await cosigned(account))).toEqual(['ann', 'ben']);
      expect(ann.requests).toHaveLength(1);
    },
  );

  it('are signed again if their key is removed, and stay cosigned', async () => {
    const scene = await makeScene();
    const { world, account } = scene;
    const { id } = await scene.agent.request({ expires_in: 86_400 });
    await publish(scene);
    const before = await cosigned(account);
    const ROOT_SECRET = new Uint8Array(32).fill(9).toBase64();
    const rotated = new World({ ...world.env, ROOT_SECRET });
    rotated.advance(world.now - rotated.now);
    // The root secret also protects the credentials.
    const { body: token } = await rotated.must(
      201,
      'POST',
      `/v1/admin/users/${account.id}/tokens`,
      {
        token: rotated.env.ADMIN_TOKEN ?? '',
      },
    );
    const get = async (path: string) => (await rotated.must(200, 'GET', path, token)).body;
    const after = await get('/v1/audit/checkpoint?witnessed=true');
    expect(after.note).not.toBe(before.note);
    await expectSigned(rotated, withoutCosignatures(after));
    expect(await witnessesOf(scene, after)).toEqual(['ann', 'ben']);
    const { checkpoint } = await get(`/v1/permissions/${id}/receipt`);
    expect(checkpoint.note).toBe(after.note);
  });

  it('carry the receipts: the newest cosigned head that covers the entries, else the newest', async () => {
    const scene = await makeScene();
    const { world, account, agent } = scene;
    const permission = await agent.approved({ max_uses: 2, token_ttl: 86_400 });
    await publish(scene);
    const path = `/v1/permissions/${permission.id}/receipt`;
    const { body: receipt } = await account.must(200, 'GET', path);
    expect(await witnessesOf(scene, receipt.checkpoint)).toEqual(['ann', 'ben']);
    await agent.request();
    await world.sweep();
    const { body: same } = await account.must(200, 'GET', path);
    expect(same).toEqual(receipt);
    await readReceipt(same as JsonObject);
    await agent.must(200, 'POST', '/v1/tokens/use', { token: permission.token.value });
    await world.sweep();
    const { body: later } = await account.must(200, 'GET', path);
    await readReceipt(later as JsonObject);
    expect(later.checkpoint).not.toHaveProperty('verifier_key');
    expect(await witnessesOf(scene, later.checkpoint)).toEqual([]);
  });
});

describe.runIf(depth.isDeep)('a witness', () => {
  it('that cosigned another size gets a proof from there', async () => {
    const scene = await makeScene();
    const { world, account, ann, ben } = scene;
    world.internet.on(ann.host, answers(503));
    await publish(scene, 2);
    expect(await witnessesOf(scene, await cosigned(account))).toEqual(['ben']);
    world.internet.on(ann.host, ann.receive);
    await publish(scene, 2);
    expect(await witnessesOf(scene, await cosigned(account))).toEqual(['ann', 'ben']);
    expect(ben.requests.map((request) => request.split('\n')[0])).toEqual([
      'old 0',
      'old 0',
      'old 2',
    ]);
  });

  it('that did not answer is asked again for the same head, and the others are not', async () => {
    const scene = await makeScene();
    const { world, account, ann, ben } = scene;
    world.internet.on(ann.host, answers(429));
    await publish(scene);
    world.internet.on(ann.host, ann.receive);
    world.advance(9 * MINUTE);
    await world.sweep();
    expect(ann.requests).toHaveLength(0);
    world.advance(MINUTE);
    await world.sweep();
    expect(await witnessesOf(scene, await cosigned(account))).toEqual(['ben', 'ann'].toSorted());
    expect(ben.requests).toHaveLength(1);
  });

  it.each<[string, (scene: Scene) => Receiver]>([
    ['knows no such log', () => answers(404)],
    ['is busy', () => answers(429)],
    ['redirects', () => answers(307, { Location: 'https://ben.example/add-checkpoint' })],
    ['answers 409 without a size', () => answers(409)],
    ['answers 409 with a size in another type', () => () => new Response('1\n', { status: 409 })],
    ['answers nonsense', () => () => new Response('— ann.example/w !\nyes\n')],
    [
      'cosigns another head',
      ({ ann }) =>
        async () =>
          new Response(await ann.cosign('other\n1\nroot\n')),
    ],
    [
      'cosigns without a time',
      ({ ann }) =>
        async ({ body }) =>
          new Response(await ann.cosign(textOf(body), 0)),
    ],
    [
      'cosigns in the future',
      ({ ann, world }) =>
        async ({ body }) =>
          new Response(await ann.cosign(textOf(body), world.now / 1_000 + 3_600)),
    ],
    ['is silent', ({ world }) => hang(world.internet)],
  ])('that %s has failed; what it answered is not kept', async (_, receiver) => {
    const scene = await makeScene();
    const { world, account, ann } = scene;
    world.internet.on(ann.host, receiver(scene));
    const errors = await errorsDuring(() => publish(scene));
    expect(errors).toMatchObject([
      { event: 'witness_failed', witness: 'ann', account: account.id },
    ]);
    expect(await witnessesOf(scene, await cosigned(account))).toEqual(['ben']);
  });

  it.each<[string, (size: number) => Response]>([
    [
      'has cosigned a larger size',
      (size) =>
        new Response(`${size + 1}\n`, {
          status: 409,
          headers: { 'Content-Type': 'text/x.tlog.size' },
        }),
    ],
    ['says that the log has not only grown', () => new Response(null, { status: 422 })],
  ])('that %s has refused: an alarm, and the head is not sent again', async (_, refuse) => {
    const scene = await makeScene();
    const { world, account, ann, ben } = scene;
    let asked = 0;
    world.internet.on(ann.host, ({ body }) => {
      asked++;
      return refuse(Number(textOf(body).split('\n')[1]));
    });
    const errors = await errorsDuring(() => publish(scene));
    expect(errors).toMatchObject([
      { event: 'witness_refused', witness: 'ann', account: account.id },
    ]);
    world.advance(20 * MINUTE);
    await world.sweep();
    expect([asked, ben.requests.length]).toEqual([1, 1]);
    expect(await witnessesOf(scene, await cosigned(account))).toEqual(['ben']);
  });

  it.each<[string, (line: string) => string]>([
    ['without padding', (line) => line.replace(/=+\n$/, '\n')],
    ['with bits set in the padding', (line) => line.replace(/.==\n$/, '/==\n')],
  ])('whose cosignature is encoded %s leaves the note readable', async (_, encode) => {
    const scene = await makeScene();
    const { world, account, agent, ann } = scene;
    world.internet.on(ann.host, async ({ body }) => {
      const [line = ''] = (await ann.cosign(textOf(body))).split('\n').slice(1);
      return new Response(encode(`${line}\n`));
    });
    const { id } = await agent.request({ expires_in: 86_400 });
    await publish(scene);
    const { body: receipt } = await account.must(200, 'GET', `/v1/permissions/${id}/receipt`);
    await readReceipt(receipt as JsonObject);
    expect(await witnessesOf(scene, receipt.checkpoint)).toContain('ben');
  });

  it('that has seen another head of the same size, made with the real key, refuses a fork', async () => {
    const scene = await makeScene();
    const { account, ann } = scene;
    await publish(scene, 2);
    const { origin } = await checkpointOf(account);
    ann.logs.set(origin, { size: 2, root: new Uint8Array(32) });
    const errors = await errorsDuring(() => publish(scene, 1));
    expect(errors).toMatchObject([{ event: 'witness_refused', witness: 'ann' }]);
  });

  it('that hangs delays neither the sealing nor any other task', async () => {
    const scene = await makeScene();
    const { world, account, agent, ann } = scene;
    const { promise, resolve } = Promise.withResolvers<Response>();
    world.internet.on(ann.host, () => promise);
    await agent.request({ expires_in: 86_400 });
    world.advance(HOUR);
    const hanging = world.sweep();
    await vi.waitFor(() => expect(world.internet.sentTo(ann.host)).toHaveLength(1));
    await agent.request();
    world.advance(MINUTE);
    await world.sweep();
    expect((await expectTree(account)).tree_size).toBe(2);
    resolve(new Response(null, { status: 500 }));
    await hanging;
  });
});

describe.runIf(depth.isDeep)('a witness that hangs', () => {
  it.runIf(depth.isDeep)(
    'does not keep the heads of other logs from the others: few of its connections are open',
    async () => {
      const scene = await makeScene();
      const { world, account, ann, ben } = scene;
      const logs = [account];
      for (let i = 0; i < 7; i++) {
        const log = await world.account();
        await mark(log, true);
        await ben.register((await checkpointOf(log)).verifier_key);
        logs.push(log);
      }
      for (const log of logs) await (await log.agent()).request({ expires_in: 86_400 });
      const open: (() => void)[] = [];
      let most = 0;
      world.internet.on(ann.host, async () => {
        const { promise, resolve } = Promise.withResolvers<void>();
        open.push(resolve);
        most = Math.max(most, open.length);
        await promise;
        return new Response(null, { status: 500 });
      });
      world.advance(HOUR);
      let isOver = false;
      const sweep = world.sweep().then(() => {
        isOver = true;
      });
      while (!isOver) {
        await vi.waitFor(() => expect(isOver || open.length > 0).toBe(true));
        // Others would open by now.
        await new Promise((resolve) => setTimeout(resolve, 20));
        for (const close of open.splice(0)) close();
      }
      await sweep;
      expect(most).toBeLessThanOrEqual(2);
      for (const log of logs)
        expect(await witnessesOf(scene, await cosigned(log))).toEqual(['ben']);
    },
  );

  it('does not delay the next head for the others', async () => {
    const scene = await makeScene();
    const { world, account, agent, ann } = scene;
    world.internet.on(ann.host, answers(503));
    await publish(scene);
    world.advance(55 * MINUTE);
    await world.sweep();
    await agent.request({ expires_in: 86_400 });
    world.advance(5 * MINUTE);
    await world.sweep();
    const latest = await cosigned(account);
    expect(latest.tree_size).toBe(2);
    expect(await witnessesOf(scene, latest)).toEqual(['ben']);
  });
});

const textOf = (request: string) => {
  const note = request.slice(request.indexOf('\n\n') + 2);
  return note.slice(0, note.lastIndexOf('\n\n') + 1);
};
