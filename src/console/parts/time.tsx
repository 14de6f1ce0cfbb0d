import { duration } from '../../lib/duration';
import { MINUTE } from '../../lib/time';

/**
 * A time to the minute, or to the second. The script shows it in the reader's zone; the tooltip and the page without
 * script have UTC.
 */
export function Time({ at, toSeconds = false }: { at: string; toSeconds?: boolean }) {
  const utc = `${at.slice(0, 10)} ${at.slice(11, toSeconds ? 19 : 16)} UTC`;
  return (
    <time datetime={at} title={utc} data-seconds={toSeconds ? '' : undefined}>
      {utc}
    </time>
  );
}

/** How long until a time, in words of two units at most. The script counts down. */
export function TimeLeft({ until, now }: { until: string; now: number }) {
  const left = Date.parse(until) - now;
  return (
    <time
      datetime={until}
      title={`${until.slice(0, 16).replace('T', ' ')} UTC`}
      data-left
      class={left < 10 * MINUTE ? 'urgent' : undefined}
    >
      {left > 0 ? `${duration(left)} left` : 'expired'}
    </time>
  );
}

/** How long ago a time was. */
export function TimeSince({ at, now }: { at: string; now: number }) {
  return (
    <time datetime={at} title={`${at.slice(0, 16).replace('T', ' ')} UTC`} data-since>
      {`${duration(Math.max(0, now - Date.parse(at)))} ago`}
    </time>
  );
}
