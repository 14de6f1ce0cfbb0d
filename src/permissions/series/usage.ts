import { type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { EXAMPLE } from '../../http/examples';
import { countField, timeField } from '../../http/response-fields';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { formatTime, formatTimeOrNull, SECOND } from '../../lib/time';
import { hasItsGivers } from './series';

/** How far a series is. */
export const SeriesUsage = lazy(() =>
  z
    .object({
      requests: countField.meta({
        description: 'The requests that it has approved, the first one included.',
      }),
      expires_at: timeField,
      ended_at: timeField.nullable().meta({
        description: 'When it ended, by its time, its number or otherwise; null while it is live.',
      }),
    })
    .meta({
      id: 'SeriesUsage',
      examples: [{ requests: 3, expires_at: EXAMPLE.laterTime, ended_at: null }],
    }),
);

export type SeriesUsage = LazyOutput<typeof SeriesUsage>;

/**
 * When a series, a row of `series`, ended before it expired; NULL if it did not. The end of a
 * series whose giver has left is the giver's last change, until the sweep has recorded it.
 */
export function earlyEndOfSeries(now: number | SQL) {
  return sql<number | null>`coalesce(series.ended_at, iif(${hasItsGivers}, null, (
    select coalesce(max(members.updated_at), ${now})
    from json_each(series.given_by) as giver cross join members
    where members.account = series.account and members.id = unhex(giver.value ->> 0)
  )))`;
}

/** When a series ended; NULL while it is live: see {@link earlyEndOfSeries}. */
function endOfSeries(now: number | SQL) {
  return sql`coalesce(
    ${earlyEndOfSeries(now)}, iif(series.expires_at <= ${now}, series.expires_at, null)
  )`;
}

/**
 * Selects how far the series is that the approval of the row of `permissions` gave; null if it gave
 * none.
 */
export function seriesUsageColumn(now: number | SQL) {
  return sql<SeriesUsage | null>`iif(permissions.granted_series is null, null, (
    select json_object(
      'requests', series.used, 'expiresAt', series.expires_at, 'endedAt', ${endOfSeries(now)}
    )
    from series where series.account = permissions.account and series.agent = permissions.agent
      and series.live_until in (0, ${expiresAtSql}) and series.permission = permissions.id
  ))`
    .mapWith((text: string): SeriesUsage => {
      const { requests, expiresAt, endedAt } = JSON.parse(text);
      return {
        requests,
        expires_at: formatTime(expiresAt),
        ended_at: formatTimeOrNull(endedAt),
      };
    })
    .as('series_usage');
}

/** When the series expires that the approval of the row of `permissions` gave. */
const expiresAtSql = sql`(
  permissions.decided_at + ${sql.raw(String(SECOND))} * (permissions.granted_series ->> 'expires_in')
)`;
