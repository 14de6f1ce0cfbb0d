import type { Permission, Series } from '../../api.ts';
import { escapeText } from '../terminal/escape.ts';
import { formatTime, formatTimeLeft } from '../terminal/time.ts';

/**
 * Says which requests a series approves besides the first one, such as `the next 19 like this
 * within 1 h; max_amount may be lower`.
 */
export function describeSeries({ requests, expires_in, varies }: Series): string {
  const duration = formatTimeLeft(new Date(expires_in * 1_000).toISOString(), 0);
  const run = `the next ${requests - 1} like this within ${duration}`;
  if (varies.length === 0) return run;
  return `${run}; ${varies.map(escapeText).join(', ')} may be lower or narrower`;
}

/** Says how far the series is that an approval gave; null if it gave none. */
export function describeUsage({ granted_series, series_usage }: Permission): string | null {
  if (!granted_series || !series_usage) return null;
  const { requests, expires_at, ended_at } = series_usage;
  const end = ended_at ? `ended ${formatTime(ended_at)}` : `until ${formatTime(expires_at)}`;
  return `${requests} of ${granted_series.requests} approved, ${end}`;
}
