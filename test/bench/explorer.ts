import { startService } from '../support/local/service.ts';
import { entryId } from './identifiers.ts';
import { quantile, type Report } from './report.ts';
import { DAY, enterprise, setScene } from './scene.ts';
import type { LoadedTenant } from './tenant.ts';

const LARGE = 1_000_000;
const SMALL = 2_000;
const MAX_TRIPS = 2;
/** Most of these are the borders of the timeline's bars: a binary search for each, of 20 steps in a million entries. */
const MAX_READ = 4_500;
/** The small log has 500 times fewer entries; a binary search takes 11 steps in it. */
const MAX_FACTOR = 2;
/** `PUBLIC_URL` of local services. */
const ORIGIN = 'http://127.0.0.1';

/** Reads every kind of page of the audit explorer in a log of a million entries, and in a small one. */
export async function measureExplorer(report: Report, state: string): Promise<void> {
  report.heading(`The console's explorer on a log of ${LARGE.toLocaleString('en')} entries, beside one of ${SMALL}`);
  const [large, small] = await setScene(state, [enterprise(LARGE, 200, 360), enterprise(SMALL, 200, 360)]);
  const service = await startService(state);
  try {
    const figures = { large: await readPages(service.origin, large), small: await readPages(service.origin, small) };
    for (const [page, { trips, read, milliseconds }] of figures.large) {
      const beside = figures.small.get(page);
      report.note(
        `${page.padEnd(28)} ${trips} trips, ${read} rows, ${milliseconds} ms (small: ${beside?.read} rows, ${beside?.milliseconds} ms)`,
      );
    }
    const all = [...figures.large.values()];
    report.atMost(MAX_TRIPS, Math.max(...all.map(({ trips }) => trips)), 'the most round trips of a page');
    report.atMost(MAX_READ, Math.max(...all.map(({ read }) => read)), 'the most rows that a page reads');
    const factors = [...figures.large].map(([page, { read }]) => read / (figures.small.get(page)?.read ?? 1));
    const factor = Number(Math.max(...factors).toFixed(2));
    report.atMost(MAX_FACTOR, factor, 'how many times the rows of the small log a page reads at most');
  } finally {
    await service.stop();
  }
}

interface Figures {
  trips: number;
  read: number;
  milliseconds: number;
}

/** Loads each page several times; the figures are the worst, the time is the median. */
async function readPages(origin: string, tenant: LoadedTenant): Promise<Map<string, Figures>> {
  const cookie = await signIn(origin, tenant.token);
  const figures = new Map<string, Figures>();
  for (const [page, path] of pagesOf(tenant)) {
    const costs: Figures[] = [];
    for (let i = 0; i < 5; i++) costs.push(await load(origin, path, cookie));
    figures.set(page, {
      trips: Math.max(...costs.map(({ trips }) => trips)),
      read: Math.max(...costs.map(({ read }) => read)),
      milliseconds: Math.round(
        quantile(
          costs.map(({ milliseconds }) => milliseconds),
          0.5,
        ),
      ),
    });
  }
  return figures;
}

function pagesOf({ number, agents, history }: LoadedTenant): [page: string, path: string][] {
  const middle = Math.floor(history.time.length / 2);
  const time = history.time[middle] as number;
  const day = (offset: number) => new Date(time + offset * DAY).toISOString().slice(0, 10);
  const agent = `agent_id=${agents[0]?.id}`;
  const month = `start_date=${day(-15)}&end_date=${day(15)}`;
  const audit = (query = '') => `/console/audit${query && `?${query}`}`;
  return [
    ['the newest entries', audit()],
    ['the oldest entries', audit('order=asc')],
    ['the live part', audit('part=list')],
    ['a year', audit(`start_date=${day(-180)}&end_date=${day(180)}`)],
    ['a month', audit(month)],
    ['a day', audit(`start_date=${day(0)}&end_date=${day(0)}`)],
    ['an event', audit('event_type=revoke')],
    ['an agent', audit(agent)],
    ['an agent, a month', audit(`${agent}&${month}`)],
    ['an agent, an event, a month', audit(`${agent}&event_type=deny&${month}`)],
    ['an action', audit('action=area-0.verb-0')],
    ['an action that nobody asked', audit('action=no.such')],
    ['an entry', `/console/audit/${entryId(number, middle + 1, time)}`],
  ];
}

/** Signs in with the account's user token. Returns the cookie of the session. */
async function signIn(origin: string, token: string): Promise<string> {
  const answer = await fetch(`${origin}/console/sign-in/token`, {
    method: 'POST',
    redirect: 'manual',
    headers: { Origin: ORIGIN },
    body: new URLSearchParams({ token }),
  });
  const [cookie = ''] = (answer.headers.get('Set-Cookie') ?? '').split(';');
  if (cookie === '') throw new Error(`the sign-in answered ${answer.status}`);
  return cookie;
}

async function load(origin: string, path: string, cookie: string): Promise<Figures> {
  const started = performance.now();
  const answer = await fetch(origin + path, { redirect: 'manual', headers: { Cookie: cookie, Accept: 'text/html' } });
  await answer.text();
  if (!answer.ok) throw new Error(`GET ${path} answered ${answer.status}`);
  const cost = /trips=(\d+) read=(\d+)/.exec(answer.headers.get('Server-Timing') ?? '');
  if (!cost) throw new Error(`GET ${path} has no cost`);
  return { trips: Number(cost[1]), read: Number(cost[2]), milliseconds: performance.now() - started };
}
