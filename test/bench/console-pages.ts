import type { Tenant } from '../support/local/tenant.ts';
import { quantile, type Report } from './report.ts';

/** `PUBLIC_URL` of local services. */
const ORIGIN = 'http://127.0.0.1';

/** What a page shows, and its path. */
export type Page = [page: string, path: string];

/** What a page costs. */
interface Figures {
  trips: number;
  read: number;
  milliseconds: number;
}

/** Loads each page several times; the figures are the worst, the time is the median. */
export async function readPages(
  origin: string,
  { token }: Tenant,
  pages: readonly Page[],
): Promise<Map<string, Figures>> {
  const cookie = await signIn(origin, token);
  const figures = new Map<string, Figures>();
  for (const [page, path] of pages) {
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

/** What each page costs in a large account, and in a small one. */
type Compared = Record<'large' | 'small', Map<string, Figures>>;

/** How many times the rows of the small account a page of the large one reads at most. */
export function mostTimes({ large, small }: Compared): number {
  const factors = [...large].map(([page, { read }]) => read / (small.get(page)?.read ?? 1));
  return Number(Math.max(...factors).toFixed(2));
}

/** Prints what each page costs in both accounts. */
export function printPages(report: Report, { large, small }: Compared): void {
  for (const [page, { trips, read, milliseconds }] of large) {
    const beside = small.get(page);
    report.note(
      `${page.padEnd(28)} ${trips} trips, ${read} rows, ${milliseconds} ms (small: ${beside?.read} rows, ${beside?.milliseconds} ms)`,
    );
  }
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
  const answer = await fetch(origin + path, {
    redirect: 'manual',
    headers: { Cookie: cookie, Accept: 'text/html' },
  });
  await answer.text();
  if (!answer.ok) throw new Error(`GET ${path} answered ${answer.status}`);
  const cost = /trips=(\d+) read=(\d+)/.exec(answer.headers.get('Server-Timing') ?? '');
  if (!cost) throw new Error(`GET ${path} has no cost`);
  return {
    trips: Number(cost[1]),
    read: Number(cost[2]),
    milliseconds: performance.now() - started,
  };
}
