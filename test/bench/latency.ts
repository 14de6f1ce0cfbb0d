import { Client } from '../support/local/client.ts';
import { prepareState, type Service, startService } from '../support/local/service.ts';
import { createTenant } from '../support/local/tenant.ts';
import type { Report } from './report.ts';

/** Round-trip times between a client's edge and the database, in milliseconds. */
const DISTANCES = [10, 40, 80, 150];
/** The one that is measured too. */
const VERIFIED = 40;
/** The same between a client and its edge, and between the database and a Worker beside it. */
const CLIENT_TO_EDGE = 5;
const BESIDE_DATABASE = 1;

const RUNS = 8;
/** How far a measured time may be from the model, in milliseconds. */
const TOLERANCE = 25;

const ASKED = {
  action: 'mail.send',
  resource: 'mailbox:support',
  scope: { max_recipients: 10 },
  max_uses: 100,
};

type Permission = { id: string; token: { value: string } | null };
/** A call; `delay` is the distance of the database. */
type Call = (delay: number) => Promise<{ trips: number; milliseconds: number }>;

/** The round trips of a call, and what it takes with the database beside the Worker. */
interface Figures {
  name: string;
  trips: number;
  own: number;
}

/**
 * Computes how long calls take, by their measured round trips and times, for a Worker near the
 * client and for one near the database (Smart Placement); and measures some of them with a delay on
 * the binding of the database.
 */
export async function measureLatency(report: Report, state: string): Promise<void> {
  report.heading('Latency in ms: the Worker near the client, and near the database');
  await prepareState(state);
  const service = await startService(state, 'test/bench/delayed-worker.ts');
  try {
    const calls = await prepareCalls(service);
    const figures: Figures[] = [];
    for (const [name, call] of Object.entries(calls)) {
      const { trips, milliseconds } = await best(call, 0);
      figures.push({ name, trips, own: milliseconds });
    }
    const own = figures.map((each) => `${each.name} ${each.own.toFixed(0)}`).join(', ');
    report.note(`without any network: ${own}; what the network adds, with (round trips):`);
    for (const distance of DISTANCES) {
      const cells = figures.map((each) => {
        const [near, far] = [nearClient(each.trips, distance), nearDatabase(each.trips, distance)];
        return `${each.name} (${each.trips}) ${near} and ${far}`;
      });
      report.note(`database ${String(distance).padStart(3)} ms from the edge: ${cells.join(', ')}`);
    }
    for (const each of figures) {
      const call = calls[each.name as keyof typeof calls];
      const { milliseconds } = await best(call, VERIFIED);
      const expected = each.own + nearClient(each.trips, VERIFIED) - CLIENT_TO_EDGE;
      const difference = Math.abs(milliseconds - expected);
      report.atMost(
        TOLERANCE,
        Math.round(difference),
        `${each.name} with ${VERIFIED} ms on the binding: ${milliseconds.toFixed(0)} ms, the model ${expected.toFixed(0)} ms; difference`,
      );
    }
  } finally {
    await service.stop();
  }
}

function nearClient(trips: number, distance: number): number {
  return CLIENT_TO_EDGE + trips * distance;
}

/** The edge passes the request on to the Worker, once. */
function nearDatabase(trips: number, distance: number): number {
  return CLIENT_TO_EDGE + distance + trips * BESIDE_DATABASE;
}

async function prepareCalls({ origin }: Service) {
  const { token, agents } = await createTenant(origin, 'enterprise', 1);
  const key = agents[0]?.key ?? '';
  const [user, agent] = [new Client(origin, token), new Client(origin, key)];
  const ask = () => agent.expect<Permission>(201, 'POST', '/v1/permissions', ASKED);
  const asked: string[] = [];
  for (let i = 0; i < 3 * (RUNS + 1); i++) asked.push((await ask()).body.id);
  const approve = (id: string) => `/v1/permissions/${id}/approve`;
  const first = asked.pop() ?? '';
  await user.expect(200, 'POST', approve(first));
  const { body } = await agent.expect<Permission>(200, 'GET', `/v1/permissions/${first}`);
  const used = { token: body.token?.value };
  return {
    ask: timed(origin, key, () => ['POST', '/v1/permissions', ASKED]),
    approve: timed(origin, token, () => ['POST', approve(asked.pop() ?? ''), {}]),
    use: timed(origin, key, () => ['POST', '/v1/tokens/use', used]),
    page: timed(origin, token, () => ['GET', '/v1/audit']),
  };
}

function timed(
  origin: string,
  credential: string,
  next: () => [method: string, path: string, body?: object],
): Call {
  return async (delay) => {
    const [method, path, body] = next();
    const started = performance.now();
    const answer = await fetch(`${origin}${path}`, {
      method,
      headers: {
        ...{ Authorization: `Bearer ${credential}`, 'X-Delay': String(delay) },
        ...(body && { 'Content-Type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const milliseconds = performance.now() - started;
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    const trips = /trips=(\d+)/.exec(answer.headers.get('Server-Timing') ?? '')?.[1];
    return { trips: Number(trips), milliseconds };
  };
}

/** The fastest of several calls. Other work on the machine only adds to a time. */
async function best(call: Call, delay: number) {
  let fastest = await call(delay);
  for (let run = 1; run < RUNS; run++) {
    const next = await call(delay);
    if (next.milliseconds < fastest.milliseconds) fastest = next;
  }
  return fastest;
}
