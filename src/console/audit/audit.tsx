import { oldestKept } from '../../audit/entry';
import { createExport, ExportCreation } from '../../audit/exports/create';
import { formatTime } from '../../lib/time';
import { readForm, readNumber, refusalOf, validate } from '../frame/form';
import { sendPage, sendPart } from '../frame/page';
import { withParameters } from '../parts/blocks';
import { LivePart } from '../parts/live';
import { redirectWithFlash } from '../session/flash';
import { Entries, readProgress } from './entries';
import { ExportForm, type RefusedExport } from './export-form';
import { ActiveFilters, FilterForm } from './filter-form';
import { auditAddress, type Filters, isUnfiltered, readFilters } from './filters';
import { type AuditContext, loadAudit } from './load';
import { Presets } from './presets';
import { Timeline } from './timeline';

/** How often the newest page looks for new entries, in seconds. */
const INTERVAL = 5;

/**
 * Shows the audit log: how many entries it has over time, and those that match the filters in the
 * address.
 */
export function showAudit(c: AuditContext): Promise<Response> {
  return sendAudit(
    c,
    readFilters((name) => c.req.query(name)),
  );
}

/** Starts an export of the entries that the filters of the form show. */
export async function exportEntries(c: AuditContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const form = await readForm(c);
  const filters = readFilters(form.text);
  const now = context.runtime.now();
  const dayOf = (time: number) => formatTime(time).slice(0, 10);
  // The form has the start of a period, not the period.
  const { order: _, event_type, ...others } = filters;
  const { scope_min, scope_max } = others;
  try {
    const input = validate(ExportCreation(), {
      // Without dates, everything that is kept until now.
      start_date: dayOf(oldestKept(context.principal.account, now)),
      end_date: dayOf(now),
      ...others,
      ...(scope_min !== undefined && { scope_min: readNumber(scope_min) }),
      ...(scope_max !== undefined && { scope_max: readNumber(scope_max) }),
      event_types: event_type && [event_type],
      format: form.text('format') || undefined,
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
  return redirectWithFlash(c, '/console/exports', 'created');
}

/** @param refused the export that was just asked for, if it was refused */
async function sendAudit(
  c: AuditContext,
  filters: Filters,
  refused?: RefusedExport,
): Promise<Response> {
  const found = await loadAudit(c, filters);
  const { search, cursor, part, shown, names, refusal, limits, zone, timeZone } = found;
  const { page, examinedTo } = search;
  // There is nothing to filter or to export in a log without entries.
  const isEmpty =
    !refusal &&
    !refused &&
    page.data.length === 0 &&
    !page.has_more &&
    isUnfiltered(filters) &&
    !cursor;
  // A search that goes on by itself would begin again at each load.
  const isLive =
    !refusal &&
    cursor === undefined &&
    examinedTo === null &&
    filters.end_date === undefined &&
    filters.order === undefined;
  const entries = (
    <Entries
      search={search}
      filters={filters}
      shown={shown}
      timeZone={timeZone}
      progress={readProgress((name) => c.req.query(name))}
      origin={new URL(c.req.url).origin}
    />
  );
  if (part === 'further') return sendPart(c, entries, names);
  const list = (
    <LivePart
      id="entries"
      source={withParameters(new URL(auditAddress(filters), c.req.url), { part: 'list' })}
      seconds={INTERVAL}
      title="Audit log"
      pauses="pointing"
      reloads={isLive}
    >
      {entries}
    </LivePart>
  );
  if (part !== undefined) return sendPart(c, list, names);
  const mayExport = c.var.signedIn.context.principal.scopes.includes('audit:export');
  return sendPage(c, {
    title: 'Audit log',
    names,
    status: refused?.refusal.status ?? refusal?.status,
    children: (
      <>
        {!isEmpty && <Presets filters={filters} timeZone={zone} />}
        {!refusal && !isEmpty && (
          <Timeline span={found.span} histogram={found.histogram} filters={filters} {...limits} />
        )}
        {!isEmpty && (
          <div class="tools">
            <FilterForm filters={filters} timeZone={zone} refusal={refusal} />
            {mayExport && !refusal && (
              <ExportForm filters={filters} shown={shown} refused={refused} />
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
          <ActiveFilters filters={filters} timeZone={timeZone} />
          {!refusal && list}
        </section>
      </>
    ),
  });
}
