import { oldestKept } from '../../audit/entry';
import { AuditHistogramQuery, getAuditHistogram } from '../../audit/get-histogram';
import { AuditList, type AuditSearch, searchAuditEntries } from '../../audit/list';
import type { Reader, RequestContext, UserContext } from '../../http/context';
import type { CallerSql } from '../../identity/credentials';
import { formatTime } from '../../lib/time';
import { isTimeZone } from '../../lib/time-zone';
import { selectSettings, storedSettings } from '../../receivers/channels/settings/settings';
import { listOrRefusal, type Refusal, validate } from '../frame/form';
import { loadNames } from '../frame/names';
import { PAGE_SIZE } from '../parts/blocks';
import type { PreloadedContext } from '../session/access';
import { type Filters, toApiFilters } from './filters';
import { timelineSpan } from './span';

/** Preloads the reader's settings, which may have a time zone. */
export async function preloadZone(_c: RequestContext, reader: Reader, { account, id }: CallerSql) {
  return { settings: selectSettings(reader, account, id) };
}

export type AuditContext = PreloadedContext<typeof preloadZone>;

/** Loads what the explorer shows. A part of the page has no timeline, so its histogram is empty. */
export async function loadAudit(c: AuditContext, filters: Filters) {
  const { context } = c.var.signedIn;
  const now = context.runtime.now();
  const limits = { now, kept: oldestKept(context.principal.account, now) };
  const zone = zoneOf(c, filters);
  const timeZone = zone ?? 'UTC';
  const shown = toApiFilters(filters, { timeZone, now });
  const cursor = c.req.query('cursor') || undefined;
  const part = c.req.query('part');
  const query = { limit: PAGE_SIZE, cursor, ...shown };
  const { start_date, end_date } = AuditList().safeParse(query).data ?? {};
  const span = timelineSpan(
    { ...(start_date && { start: start_date.bound }), ...(end_date && { end: end_date.bound }) },
    limits,
  );
  const buckets = {
    start_date: formatTime(span.from),
    end_date: formatTime(span.to),
    buckets: Math.round((span.to - span.from) / span.step),
  };
  const [{ search, refusal }, names, histogram] = await Promise.all([
    searchOrRefusal(context, query),
    loadNames(context, ['people', 'agents', 'policies']),
    part === undefined
      ? getAuditHistogram(context, validate(AuditHistogramQuery(), buckets))
      : { data: [] },
  ]);
  const times = { limits, span, zone, timeZone };
  return { ...times, cursor, part, shown, search, refusal, names, histogram };
}

/** The time zone of the address or of the reader's quiet hours; undefined if neither has one. */
function zoneOf({ var: { loaded } }: AuditContext, { zone }: Filters): string | undefined {
  const settings = storedSettings(loaded.settings?.[0]);
  const zones = [zone, settings?.quiet_hours?.time_zone];
  return zones.find((name) => name !== undefined && isTimeZone(name));
}

/** The entries of a page; none, and why, if its filters are refused. */
async function searchOrRefusal(
  context: UserContext,
  query: object,
): Promise<{ search: AuditSearch; refusal: Refusal | undefined }> {
  let examinedTo: AuditSearch['examinedTo'] = null;
  const { page, refusal } = await listOrRefusal(async () => {
    const search = await searchAuditEntries(context, validate(AuditList(), query));
    examinedTo = search.examinedTo;
    return search.page;
  });
  return { search: { page, examinedTo }, refusal };
}
