import { startService } from '../support/local/service.ts';
import { mostTimes, type Page, printPages, readPages } from './console-pages.ts';
import { entryId } from './identifiers.ts';
import type { Report } from './report.ts';
import { DAY, enterprise, setScene } from './scene.ts';
import type { LoadedTenant } from './tenant.ts';

const LARGE = 1_000_000;
const SMALL = 2_000;
const MAX_TRIPS = 2;
/**
 * Most of these are the borders of the timeline's bars: a binary search for each, of 20 steps in a
 * million entries.
 */
const MAX_READ = 4_500;
/** A search that finds nothing also examines 1,000 entries, and reads each three times. */
const MAX_READ_OF_SEARCH = MAX_READ + 3 * 1_000;
/** The small log has 500 times fewer entries; a binary search takes 11 steps in it. */
const MAX_FACTOR = 2;

/**
 * Reads every kind of page of the audit explorer in a log of a million entries, and in a small one.
 */
export async function measureExplorer(report: Report, state: string): Promise<void> {
  report.heading(
    `The console's explorer on a log of ${LARGE.toLocaleString('en')} entries, beside one of ${SMALL}`,
  );
  const [large, small] = await setScene(state, [
    enterprise(LARGE, 200, 360),
    enterprise(SMALL, 200, 360),
  ]);
  const service = await startService(state);
  try {
    const measurePages = async (what: string, maxRead: number, list: typeof pagesOf) => {
      const figures = {
        large: await readPages(service.origin, large, list(large)),
        small: await readPages(service.origin, small, list(small)),
      };
      printPages(report, figures);
      const all = [...figures.large.values()];
      const trips = Math.max(...all.map((page) => page.trips));
      report.atMost(MAX_TRIPS, trips, `the most round trips of a ${what}`);
      const read = Math.max(...all.map((page) => page.read));
      report.atMost(maxRead, read, `the most rows that a ${what} reads`);
      const times = mostTimes(figures);
      report.atMost(MAX_FACTOR, times, `how many times the rows of the small log a ${what} reads`);
    };
    await measurePages('page', MAX_READ, pagesOf);
    await measurePages('search', MAX_READ_OF_SEARCH, searchesOf);
  } finally {
    await service.stop();
  }
}

function pagesOf({ number, agents, history }: LoadedTenant): Page[] {
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

/** Searches without an index. Each finds nothing, so that its page examines all that it may. */
function searchesOf(): Page[] {
  return [
    ['a resource', '/console/audit?resource=mailbox:none'],
    ['an amount', '/console/audit?scope_key=max_recipients&scope_min=11'],
    ['a decider', '/console/audit?decided_by=nobody'],
    ['a search that goes on', '/console/audit?resource=mailbox:none&part=further'],
  ];
}
