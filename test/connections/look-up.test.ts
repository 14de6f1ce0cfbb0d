import { beforeEach, describe, expect, it } from 'vitest';
import {
  approveAll,
  callUpstream,
  makeConnectionScene,
  UPSTREAM,
} from '../support/connection-calls';

const MINUTE = 60_000;

type Scene = Awaited<ReturnType<typeof makeConnectionScene>>;

let scene: Scene;

beforeEach(async () => {
  scene = await makeConnectionScene();
  await approveAll(scene.account);
});

/** The status of an act, and how often its host was looked up. */
async function act(amount: number): Promise<[status: number, lookUps: number]> {
  const { agent, connection } = scene;
  const before = lookUps();
  const { status } = await callUpstream(agent, connection, { body: { amount } });
  return [status, lookUps() - before];
}

function lookUps(): number {
  const { requests } = scene.world.internet;
  const hosts = requests.map(({ url }) => new URL(url));
  return hosts.filter(({ searchParams }) => searchParams.get('name') === UPSTREAM).length;
}

describe('the host of a connection', () => {
  it('is looked up once a minute, by both types of addresses, however many calls there are', async () => {
    expect(await act(1)).toEqual([200, 2]);
    expect(await act(2)).toEqual([200, 0]);
    scene.world.advance(MINUTE - 1);
    expect(await act(3)).toEqual([200, 0]);
    scene.world.advance(1);
    expect(await act(4)).toEqual([200, 2]);
  });

  it('gets nothing while it has an address that is not public, and is looked up for each call', async () => {
    const { internet } = scene.world;
    internet.addresses.set(UPSTREAM, ['93.184.215.14', '10.0.0.1']);
    expect(await act(1)).toEqual([502, 2]);
    expect(await act(2)).toEqual([502, 2]);
    internet.resolver = () => new Response(null, { status: 500 });
    expect(await act(3)).toEqual([502, 2]);
    expect(internet.sentTo(UPSTREAM)).toEqual([]);
    internet.resolver = null;
    internet.addresses.delete(UPSTREAM);
    expect(await act(4)).toEqual([200, 2]);
  });

  it('is looked up again before the act whose host has changed meanwhile', async () => {
    const { world } = scene;
    expect(await act(1)).toEqual([200, 2]);
    world.internet.addresses.set(UPSTREAM, ['fd00::1']);
    world.advance(MINUTE);
    expect(await act(2)).toEqual([502, 2]);
    expect(world.internet.sentTo(UPSTREAM)).toHaveLength(1);
  });
});
