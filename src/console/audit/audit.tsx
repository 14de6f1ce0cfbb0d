import { oldestKept } from '../../audit/entry';
import { createExport, ExportCreation } from '../../audit/exports/create';
import { AuditHistogramQuery, getAuditHistogram } from '../../audit/get-histogram';
import { AuditList, listAuditEntries } from '../../audit/list';
import { formatTime } from '../../lib/time';
import { listOrRefusal, readForm, refusalOf, validate } from '../frame/form';
import { loadNames } from '../frame/names';
import { sendPage, sendPart } from '../frame/page';
import { Empty, NextPage, PAGE_SIZE, withParameters } from '../parts/blocks';
import { LivePart } from '../parts/live';
import type { ConsoleContext } from '../session/access';
import { redirectAndTell } from '../session/told';
import { EntryList } from './entry-list';
import { ExportForm, type RefusedExport } from './export-form';
import { ActiveFilters, FilterForm } from './filter-form';
import { auditAddress, type Filters, isExamined, readFilters } from './filters';
import { timelineSpan } from './span';
import { Timeline } from './timeline';

/** How often the newest page looks for new entries, in seconds. */
const INTERVAL = 5;

/**
 * Shows the audit log: how many entries it has over time, and those that match the filters in the
 * address.
 */
export function showAudit(c: ConsoleContext): Promise<Response> {
  return sendAudit(
    c,
    readFilters((name) => c.req.query(name)),
  );
}

/** Starts an export of the entries that the filters of the form show. */
export async function exportEntries(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const form = await readForm(c);
  const filters = readFilters(form.text);
  const { event_type, start_date, end_date } = filters;
  const now = context.runtime.now();
  const dayOf = (time: number) => formatTime(time).slice(0, 10);
  try {
    const input = validate(ExportCreation(), {
      format: form.text('format') || undefined,
      // Without dates, everything that is kept until now.
      start_date: start_date ?? dayOf(oldestKept(context.principal.account, now)),
      end_date: end_date ?? dayOf(now),
      agent_id: filters.agent_id,
      event_types: event_type && [event_type],
      action: filters.action,
      resource: filters.resource,
      decided_by: filters.decided_by,
      include_details: form.has('include_details'),
      bom: form.has('bom'),
    });
    await c.var.once((context) => createExport(context, input));
  } catch (error) {
    return sendAudit(c, filters, {
      refusal: refusalOf(error),
      format: form.text('format'),
      hasBom: form.has('bom'),
    });
  }
  return redirectAndTell(c, '/console/exports', 'created');
}

/** @param refused the export that was just asked for, if it was refused */
async function sendAudit(
  c: ConsoleContext,
  filters: Filters,
  refused?: RefusedExport,
): Promise<Response> {
  const { context } = c.var.signedIn;
  const { principal, runtime } = context;
  const limits = { now: runtime.now(), kept: oldestKept(principal.account, runtime.now()) };
  const cursor = c.req.query('cursor') || undefined;
  const isPart = c.req.query('part') === 'list';

  const query = { limit: PAGE_SIZE, cursor, ...filters };
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
  const [{ page, refusal }, names, histogram] = await Promise.all([
    listOrRefusal(async () => listAuditEntries(context, validate(AuditList(), query))),
    loadNames(context, ['people', 'agents', 'policies']),
    isPart ? { data: [] } : getAuditHistogram(context, validate(AuditHistogramQuery(), buckets)),
  ]);

  // There is nothing to filter or to export in a log without entries.
  const isEmpty =
    !refusal &&
    !refused &&
    page.data.length === 0 &&
    !page.has_more &&
    isUnfiltered(filters) &&
    !cursor;
  const address = new URL(auditAddress(filters), c.req.url);
  const isLive =
    !refusal &&
    cursor === undefined &&
    filters.end_date === undefined &&
    filters.order === undefined;
  const list = (
    <LivePart
      id="entries"
      source={withParameters(address, { part: 'list' })}
      seconds={INTERVAL}
      title="Audit log"
      pauses="pointing"
      reloads={isLive}
    >
      {page.data.length > 0 && <EntryList entries={page.data} filters={filters} />}
      {page.data.length === 0 && <Nothing filters={filters} hasMore={page.has_more} />}
      <NextPage page={page} address={address} label={filters.order === 'asc' ? 'Newer' : 'Older'} />
    </LivePart>
  );
  if (isPart) return sendPart(c, list, names);
  return sendPage(c, {
    title: 'Audit log',
    names,
    status: refused?.refusal.status ?? refusal?.status,
    children: (
      <>
        {!refusal && !isEmpty && (
          <Timeline span={span} histogram={histogram} filters={filters} {...limits} />
        )}
        {!isEmpty && (
          <div class="tools">
            <FilterForm filters={filters} refusal={refusal} />
            {principal.scopes.includes('audit:export') && !refusal && (
              <ExportForm filters={filters} refused={refused} />
            )}
          </div>
        )}
        <section class="part" aria-labelledby="entries-title">
          <div class="bar">
            <h2 id="entries-title">Entries</h2>
            <p class="soft" hidden={isEmpty}>
              {filters.order === 'asc' ? 'The oldest first. ' : 'The newest first. '}
              {cursor !== undefined && <a href={auditAddress(filters)}>Back to the first page</a>}
              {isLive && (
                <span data-with-script hidden>
                  New ones appear by themselves, except while you point at the list.
                </span>
              )}
            </p>
          </div>
          <ActiveFilters filters={filters} />
          {!refusal && list}
        </section>
      </>
    ),
  });
}

/** Whether the filters leave out no entry. */
function isUnfiltered({ order: _, ...narrowing }: Filters): boolean {
  return Object.keys(narrowing).length === 0;
}

function Nothing({ filters, hasMore }: { filters: Filters; hasMore: boolean }) {
  if (hasMore && isExamined(filters))
    return (
      <Empty title="None of the entries that were looked at matches: go on to the next ones." />
    );
  if (hasMore)
    return <Empty title="The entries of this page are being erased: go on to the next one." />;
  if (!isUnfiltered(filters)) {
    return (
      <Empty title="No entry matches these filters.">
        <p>
          <a href={auditAddress({}, { order: filters.order ?? null })}>Show all entries</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="The log has no entries yet.">
      <p>It gets one whenever an agent asks, somebody decides, or a token is used.</p>
    </Empty>
  );
}
