import { sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { queryNumber } from '../http/fields';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { countField, timeField } from '../http/response-fields';
import { type LazyOutput, lazy } from '../lib/lazy';
import { formatTime } from '../lib/time';
import { requireDateOrder, requiredDateRange } from './date-range';
import { oldestKept } from './entry';
import { selectEntryCounts } from './log-range';

const MAX_BUCKETS = 366;

export const AuditHistogramQuery = lazy(() =>
  z.strictObject({
    ...requiredDateRange(),
    buckets: queryNumber(1, MAX_BUCKETS)
      .default(60)
      .meta({ description: 'Into how many buckets of equal length the time is divided.' }),
  }),
);

export const AuditHistogram = lazy(() =>
  z
    .object({
      data: z.array(
        z.object({
          start: timeField.meta({
            description:
              'Bucket i of n, from 0, starts at start + i × (end − start) ÷ n, rounded to milliseconds.',
          }),
          entries: countField.meta({
            description: 'Entries from this time until the start of the next bucket.',
          }),
        }),
      ),
    })
    .meta({
      id: 'AuditHistogram',
      examples: [
        {
          data: [
            { start: '2026-01-01T00:00:00.000Z', entries: 12 },
            { start: '2026-01-16T12:00:00.000Z', entries: 0 },
          ],
        },
      ],
    }),
);

export type AuditHistogram = LazyOutput<typeof AuditHistogram>;

/**
 * Counts the entries of the account's audit log in buckets of equal length, as far back as its
 * retention period. Entries of a deleted agent are counted until they are erased.
 * @throws Problem `invalid_request` if the range starts after it ends
 */
export async function getAuditHistogram(
  { reader, principal, runtime }: UserContext,
  { start_date, end_date, buckets }: LazyOutput<typeof AuditHistogramQuery>,
): Promise<AuditHistogram> {
  requireDateOrder('query', { start_date, end_date });
  const { account } = principal;
  const from = start_date.bound;
  const length = end_date.bound - from;
  const starts = Array.from(
    { length: buckets },
    (_, i) => from + Math.round((i * length) / buckets),
  );
  const kept = oldestKept(account, runtime.now());
  const times = [...starts, end_date.bound].map((time) => Math.max(time, kept));
  const [counts] = await reader.load([
    reader
      .select({ entries: sql<number | null>`entries` })
      .from(sql`(${selectEntryCounts(account, times)})`)
      .orderBy(sql`time`),
  ]);
  return {
    data: starts.map((start, i) => ({
      start: formatTime(start),
      entries: counts[i]?.entries ?? 0,
    })),
  };
}

export const getAuditHistogramRoute = new Hono().get(
  '/v1/audit/histogram',
  operation({
    id: 'getAuditHistogram',
    tag: 'Audit',
    summary: 'Count the entries of the audit log over time',
    description:
      'Counts all entries of the account, as far back as the retention of the plan. Entries of a deleted agent are ' +
      'counted until they are erased in the background.',
    success: ok(AuditHistogram),
  }),
  userAccess('audit:read'),
  query(AuditHistogramQuery),
  async (c) => answer(c, await getAuditHistogram(c.var.context, c.req.valid('query'))),
);
