import { sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { agents, EVENT_TYPES } from '../../db/schema';
import { newFileColumns } from '../../files/presentation';
import { requestFile } from '../../files/request';
import { userAccess } from '../../http/access';
import { newId, type UserContext } from '../../http/context';
import { choice, type DateBound, endDate, listOf, queryText, startDate } from '../../http/fields';
import { body, noQuery } from '../../http/input';
import { accepted, answer, operation } from '../../http/operation';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { DAY, formatTime } from '../../lib/time';
import { idBytes, parseId } from '../../lib/typeid';
import { requireDateOrder } from '../date-range';
import { detailFilterFields, readDetailFilter } from '../detail-filter';
import { oldestKept } from '../entry';
import { AuditExport, EXPORT_FORMATS, type ExportRequest, presentExport } from './export';

const eventTypes = lazy(() =>
  listOf(choice(EVENT_TYPES), EVENT_TYPES.length).refine(
    (types) => new Set(types).size === types.length,
    'must name each type once',
  ),
);

export const ExportCreation = lazy(() =>
  z
    .strictObject({
      format: choice(EXPORT_FORMATS).default('json'),
      start_date: startDate().meta({
        description: 'Entries from this time on. A bare date means its midnight in UTC.',
      }),
      end_date: endDate().meta({
        description:
          'Entries before this time. A bare date means the end of that day. What is after today means the end of today.',
      }),
      agent_id: queryText.optional().meta({ description: 'Entries of this agent.' }),
      event_types: eventTypes().optional().meta({ description: 'Entries of these types.' }),
      action: queryText.optional().meta({ description: 'Entries of exactly this action.' }),
      ...detailFilterFields(),
      include_details: z
        .boolean()
        .default(false)
        .meta({ description: 'Whether each entry comes with its details.' }),
      bom: z.boolean().default(false).meta({
        description: 'Whether the file begins with a byte order mark, for Excel. Only for CSV.',
      }),
    })
    .refine(({ bom, format }) => !bom || format === 'csv', {
      path: ['bom'],
      message: 'is only for the format csv',
    })
    .meta({
      examples: [
        { format: 'csv', start_date: '2026-01-01', end_date: '2026-01-31', include_details: true },
      ],
    }),
);

/**
 * Starts an export of the entries that match now. Entries that are written later are not in it.
 * @throws Problem `too_many_exports`; `invalid_request` if the range starts after it ends,
 *   or filters contradict each other
 */
export async function createExport(
  context: UserContext,
  input: LazyOutput<typeof ExportCreation>,
): Promise<AuditExport> {
  const { format, start_date, agent_id, event_types, include_details, bom } = input;
  const { principal, runtime, config } = context;
  const now = runtime.now();
  const end_date = endTodayAtLatest(input.end_date, now);
  requireDateOrder('body', { start_date, end_date });
  readDetailFilter('body', input);
  const request: ExportRequest = {
    start_date: start_date.text,
    end_date: end_date.text,
    agent_id: agent_id ?? null,
    event_types: event_types ?? null,
    action: input.action ?? null,
    resource: input.resource ?? null,
    decided_by: input.decided_by ?? null,
    scope_key: input.scope_key ?? null,
    scope_min: input.scope_min ?? null,
    scope_max: input.scope_max ?? null,
    include_details,
    bom,
    from: start_date.bound,
    to: end_date.bound,
  };
  const file = {
    kind: 'export' as const,
    id: newId(runtime, 'export'),
    format,
    request,
    agent: agentFilterSql(principal.account.number, agent_id),
    keptFrom: oldestKept(principal.account, now),
    createdAt: now,
  };
  const shown = await presentExport(config, principal, newFileColumns(file), now);
  await requestFile(context, file, shown);
  return shown;
}

/** The end of a range, at most the end of today in UTC. */
function endTodayAtLatest(end: DateBound, now: number): DateBound {
  const time = (Math.floor(now / DAY) + 1) * DAY;
  if (end.bound <= time) return end;
  return { text: formatTime(time), written: time, bound: time };
}

/**
 * The number of an agent of the account; 0 if there is no such agent, as no agent has that number.
 * Null without a filter.
 */
function agentFilterSql(account: number, id: string | undefined) {
  if (id === undefined) return null;
  const agent = parseId('agent', id);
  if (!agent) return 0;
  return sql<number>`coalesce((
    select ${agents.number} from ${agents}
    where ${agents.account} = ${account} and ${agents.id} = ${idBytes(agent)}
  ), 0)`;
}

export const createExportRoute = new Hono().post(
  '/v1/audit/export',
  operation({
    id: 'createAuditExport',
    tag: 'Audit',
    summary: 'Start an export of the audit log',
    success: accepted(AuditExport),
    problems: ['too_many_exports'],
  }),
  userAccess('audit:export'),
  noQuery(),
  body(ExportCreation),
  async (c) => answer(c, await createExport(c.var.context, c.req.valid('json'))),
);
