import { scaleLinear } from 'd3-scale';
import type { Child } from 'hono/jsx';
import { type AgentStatistics, parsePeriod } from '../../agents/get-statistics';
import { duration } from '../../lib/duration';
import { formatTime } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import { usePage } from '../frame/page-context';
import { Section, Table, Tabs } from '../parts/blocks';
import { pluralOf } from '../parts/words';

const PERIODS = ['24h', '7d', '30d', '90d', '365d'];

/**
 * Shows an agent's requests and tokens of a period, by their status. Each bar links to the list of
 * what it counts.
 */
export function Statistics({ id, statistics }: { id: Id<'agent'>; statistics: AgentStatistics }) {
  const { may, now, formatNumber, formatPercent } = usePage();
  const { period, total_requests: total, approved_requests, avg_approval_time_ms } = statistics;
  const share = (count: number) => `${formatNumber(count)} (${formatPercent(count / total)})`;
  const request = (label: string, status: string, value: number): Bar => {
    const bar = { label, value, text: share(value) };
    if (!may('permissions:read')) return bar;
    const query = new URLSearchParams({ ...(status !== 'pending' && { status }), agent_id: id });
    return { ...bar, href: `/console?${query}` };
  };
  const isInDays = period.endsWith('d');
  const { unitLength, from } = parsePeriod(period, now);
  const start = formatTime(from * unitLength);
  const start_date = isInDays ? start.slice(0, 10) : start;
  const token = (label: string, event_type: string, value: number): Bar => {
    if (!may('audit:read')) return { label, value };
    const query = new URLSearchParams({ agent_id: id, event_type, start_date });
    return { label, value, href: `/console/audit?${query}` };
  };
  return (
    <Section name="statistics" title={`Statistics: ${periodName(period)}`}>
      <Tabs
        label="Period"
        tabs={[...new Set([...PERIODS, period])].map(
          (other) => [other, periodName(other)] as const,
        )}
        current={period}
        address={(other) => `/console/agents/${id}?period=${other}`}
      />
      {total > 0 && (
        <p>
          It made <strong>{formatNumber(total)}</strong> {pluralOf(total, 'request')}.
          {approved_requests > 0 && [
            ' The approved ones waited ',
            <strong>{duration(avg_approval_time_ms)}</strong>,
            ' on average.',
          ]}
        </p>
      )}
      <div class="charts">
        <BarChart
          title="What became of its requests"
          columns={['Outcome', 'Requests']}
          whole={total}
          nothing="It made no request in this time."
          bars={[
            request('Approved', 'approved', statistics.approved_requests),
            request('Denied', 'denied', statistics.denied_requests),
            request('Waiting', 'pending', statistics.pending_requests),
            request('Expired', 'expired', statistics.expired_requests),
          ]}
        />
        <BarChart
          title="What happened to its tokens"
          columns={['Event', 'Tokens']}
          nothing="None of its tokens was issued, used or revoked in this time."
          bars={[
            token('Issued', 'approve', statistics.tokens_issued),
            token('First used', 'use', statistics.tokens_used),
            token('Revoked', 'revoke', statistics.tokens_revoked),
          ]}
        />
      </div>
      {total > 0 && may('permissions:read') && (
        <p class="hint">
          Each outcome links to all requests of the agent with that outcome, older ones included.
        </p>
      )}
    </Section>
  );
}

/** A period for people, such as `30 days`. */
function periodName(period: string): string {
  if (period === '365d') return '1 year';
  const count = Number.parseInt(period, 10);
  const unit = period.endsWith('d') ? 'day' : 'hour';
  return `${count} ${pluralOf(count, unit)}`;
}

/** One bar of a chart. */
interface Bar {
  label: string;
  value: number;
  /** How the value reads, if not as a plain number. */
  text?: string;
  /** Where one finds what the bar counts; undefined if the reader may not see that. */
  href?: string;
}

interface BarChartProps {
  title: string;
  /** The heads of the table. */
  columns: [label: string, value: string];
  bars: readonly Bar[];
  /** The value of a full bar. By default the greatest of the values. */
  whole?: number;
  /** Stands here if all values are 0. */
  nothing: string;
}

/**
 * Horizontal bars, each below its label and value, which lead to what it counts. The same numbers
 * follow as a table.
 */
function BarChart({ title, columns, bars, whole, nothing }: BarChartProps) {
  const { formatNumber } = usePage();
  const greatest = Math.max(0, ...bars.map(({ value }) => value));
  const percent = scaleLinear([0, whole ?? greatest], [0, 100]);
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
      </figcaption>
      {greatest === 0 && <p class="soft">{nothing}</p>}
      {greatest > 0 && (
        <>
          <ul>
            {bars.map(({ label, value, text = formatNumber(value), href }) => (
              <li>
                <LinkIf href={href}>
                  <span>{label}</span> <span>{text}</span>
                  <svg width="100%" height="0.625em" aria-hidden="true">
                    <rect class="track" width="100%" height="100%" />
                    <rect width={`${percent(value)}%`} height="100%" />
                  </svg>
                </LinkIf>
              </li>
            ))}
          </ul>
          <details>
            <summary>As a table</summary>
            <Table caption={title} columns={columns}>
              {bars.map(({ label, value, href }) => (
                <tr>
                  <th scope="row">
                    <LinkIf href={href}>{label}</LinkIf>
                  </th>
                  <td>{formatNumber(value)}</td>
                </tr>
              ))}
            </Table>
          </details>
        </>
      )}
    </figure>
  );
}

/** A link, or its content alone if it leads nowhere. */
function LinkIf({ href, children }: { href: string | undefined; children: Child }) {
  if (href === undefined) return <>{children}</>;
  return <a href={href}>{children}</a>;
}
