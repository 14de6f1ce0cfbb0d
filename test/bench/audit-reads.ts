import { type Answer, Client } from '../support/local/client.ts';
import { allCombinations, type Combination, drawQuery } from './audit-queries.ts';
import { entryId } from './identifiers.ts';
import { type AuditFilter, Oracle } from './oracle.ts';
import type { Random } from './random.ts';
import { median, type Report } from './report.ts';
import type { LoadedTenant } from './tenant.ts';

const PAGE = 50;
const MAX_READ = 320;
/** For a page of one permission, whose entries have no index: it may have 1,000 uses. */
const MAX_READ_OF_PERMISSION = 2_100;
const MAX_READ_BY_ID = 10;
const WORKERS = 4;

interface Page {
  data: { id: string; sequence: number }[];
  has_more: boolean;
  next_cursor: string | null;
}

/** The rows that pages of 50 read, by class of query. */
type Figures = Map<string, number[]>;

export interface AuditSubject {
  tenant: LoadedTenant;
  /** The account whose identifiers serve as those of another account. */
  foreign: LoadedTenant;
  name: string;
  /** The time from which its plan keeps entries. */
  keptFrom: number;
  queriesPerCombination: number;
}

/**
 * Queries an account's log with every combination of filters, follows the cursors, and compares
 * each page with the oracle's. Pages of all sizes are compared, but only pages of 50 are measured.
 */
export async function measureAudit(
  report: Report,
  random: Random,
  origin: string,
  subject: AuditSubject,
) {
  const { tenant, name, foreign } = subject;
  report.heading(`GET /v1/audit, ${name}: rows read by a page of ${PAGE}`);
  const oracle = new Oracle(tenant, subject.keptFrom);
  const client = new Client(origin, tenant.token);
  const figures: Figures = new Map();
  const differences: string[] = [];
  const queries = allCombinations().flatMap((combination) =>
    Array.from({ length: subject.queriesPerCombination }, () => ({
      combination,
      filter: drawQuery(random, combination, tenant, foreign),
      limit: random.chance(0.85) ? PAGE : random.pick([1, 2, 7, 49, 51, 300, 1_000]),
    })),
  );
  const waiting = queries.values();
  let pages = 0;
  const work = async () => {
    for (const { combination, filter, limit } of waiting) {
      const expected = oracle.match(filter);
      await followPages(client, oracle, tenant, filter, limit, expected, (page, cost, problem) => {
        pages += 1;
        if (problem) differences.push(`${problem}: ${JSON.stringify({ ...filter, limit, page })}`);
        if (limit === PAGE) note(figures, combination, cost);
      });
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  printFigures(report, figures);
  const worst = (isCounted: (filters: string) => boolean) =>
    Math.max(...[...figures].flatMap(([filters, reads]) => (isCounted(filters) ? reads : [])));
  const ofPermission = (filters: string) => filters.includes('permission');
  report.atMost(
    MAX_READ,
    worst((filters) => !ofPermission(filters)),
    'rows read by the worst page without a filter on the permission',
  );
  report.atMost(MAX_READ_OF_PERMISSION, worst(ofPermission), 'rows read by the worst page with it');
  report.verdict(
    differences.length === 0,
    `${queries.length} queries, ${pages} pages compared with the oracle: ${differences.length} differences`,
  );
  for (const difference of differences.slice(0, 5)) report.note(difference);
}

const MAX_PAGES = 4;

async function followPages(
  client: Client,
  oracle: Oracle,
  tenant: LoadedTenant,
  filter: AuditFilter,
  limit: number,
  expected: number[],
  note: (page: number, read: number, problem: string | null) => void,
): Promise<void> {
  let cursor: string | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const parameters: Record<string, string | number> = {
      ...filter,
      limit,
      ...(cursor !== null && { cursor }),
    };
    const { status, body, cost }: Answer<Page> = await client.get('/v1/audit', parameters);
    if (status !== 200) {
      note(page, cost.read, `status ${status}`);
      return;
    }
    const slice = expected.slice(page * limit, (page + 1) * limit);
    const more = expected.length > (page + 1) * limit;
    note(page, cost.read, compare(oracle, tenant, slice, more, body));
    cursor = body.next_cursor;
    if (cursor === null) return;
  }
}

function compare(
  oracle: Oracle,
  tenant: LoadedTenant,
  slice: number[],
  more: boolean,
  page: Page,
): string | null {
  const shown = slice.filter((at) => oracle.isShown(at));
  const ids = shown.map((at) => entryId(tenant.number, at + 1, tenant.history.time[at] as number));
  if (ids.length !== page.data.length)
    return `${page.data.length} entries instead of ${ids.length}`;
  if (ids.some((id, place) => id !== page.data[place]?.id)) return 'other entries';
  if (page.has_more !== more || (page.next_cursor !== null) !== more)
    return `has_more instead of ${more}`;
  return null;
}

function note(
  figures: Figures,
  { agent, permission, event, action, start, end }: Combination,
  read: number,
): void {
  const filters = Object.entries({ agent, permission, event, action }).filter(
    ([, present]) => present,
  );
  const dates = start && end ? 'both dates' : start ? 'start_date' : end ? 'end_date' : 'no date';
  const key = `${filters.map(([name]) => name).join(' + ') || 'no filter'}|${dates}`;
  const list = figures.get(key) ?? [];
  list.push(read);
  figures.set(key, list);
}

function printFigures(report: Report, figures: Figures): void {
  const dates = ['no date', 'start_date', 'end_date', 'both dates'];
  report.note(`${'median / worst'.padEnd(38)}${dates.map((date) => date.padStart(13)).join('')}`);
  const filters = [...new Set([...figures.keys()].map((key) => key.split('|')[0] as string))];
  for (const filter of filters) {
    const cells = dates.map((date) => {
      const reads = figures.get(`${filter}|${date}`) ?? [];
      return `${median(reads)} / ${Math.max(...reads)}`.padStart(13);
    });
    report.note(`${filter.padEnd(38)}${cells.join('')}`);
  }
}

/** Reads single entries of the account and of another account. */
export async function measureAuditDetail(
  report: Report,
  random: Random,
  origin: string,
  subject: AuditSubject,
) {
  const { tenant, foreign } = subject;
  report.heading('GET /v1/audit/:id: rows read');
  const client = new Client(origin, tenant.token);
  const reads: number[] = [];
  for (let n = 0; n < 200; n++) {
    const of = n % 10 === 0 ? foreign : tenant;
    const at = random.below(of.history.time.length);
    const id = entryId(of.number, at + 1, of.history.time[at] as number);
    const { status, cost } = await client.get(`/v1/audit/${id}`);
    const visible = of === tenant && !of.history.erased[at];
    if (status !== (visible ? 200 : 404)) throw new Error(`GET /v1/audit/${id}: ${status}`);
    reads.push(cost.read);
  }
  report.note(`median ${median(reads)}`);
  report.atMost(MAX_READ_BY_ID, Math.max(...reads), 'rows read for the worst of 200 entries');
}
