import { scaleLinear, scaleUtc } from 'd3-scale';
import type { AuditHistogram } from '../../audit/get-histogram';
import type { DayFormat } from '../../lib/day-format';
import { formatTime } from '../../lib/time';
import { usePage } from '../frame/page-context';
import { LinkButton, Table } from '../parts/blocks';
import { Count, Numeral } from '../parts/inline';
import { countText } from '../parts/words';
import { auditAddress, type Filters, isNarrowed } from './filters';
import { rangesAround, type Span, selectRange, stepText } from './span';

/** The height of the highest bar, and of the chart with its labels, in pixels. */
const BAR_HEIGHT = 88;
const CHART_HEIGHT = BAR_HEIGHT + 24;
/** The entries that the timeline counts. */
const ENTRY = { one: 'entry', many: 'entries' };
/** Room above the bars for the label of the highest one. */
const TOP = 18;
/** The height of the lowest bar. */
const MIN_BAR = 3;

interface TimelineProps {
  span: Span;
  histogram: AuditHistogram;
  filters: Filters;
  now: number;
  /** The earliest time of entries that the account keeps. */
  kept: number;
}

interface Bar {
  from: number;
  to: number;
  entries: number;
  /** Where the explorer shows exactly these entries. */
  address: string;
}

/**
 * How many entries the log has over time. A click on a bar, or dragging over several, selects their
 * time.
 */
export function Timeline({ span, histogram, filters, now, kept }: TimelineProps) {
  const { from, to, step } = span;
  const bars = histogram.data.map(({ entries }, index): Bar => {
    const range = { from: from + index * step, to: from + (index + 1) * step };
    return { ...range, entries, address: auditAddress(filters, selectRange(range, now)) };
  });
  const filledBars = bars.filter(({ entries }) => entries > 0);
  const total = bars.reduce((sum, { entries }) => sum + entries, 0);
  const around = rangesAround(span, { now, kept });
  return (
    <section class="card" aria-labelledby="timeline-title">
      <div class="bar">
        <h2 id="timeline-title">
          {isNarrowed(filters) && 'Without the filters: '}
          <Count of={total} {...ENTRY} />
          <span class="soft">
            {' '}
            from {formatUtc(from)} UTC until {to > now ? 'now' : `${formatUtc(to)} UTC`}
          </span>
        </h2>
        <nav class="actions" aria-label="Time">
          {(['earlier', 'wider', 'later'] as const).map((name) => {
            const range = around[name];
            return (
              range && (
                <LinkButton
                  href={auditAddress(filters, selectRange(range, now))}
                  label={{ earlier: '← Earlier', wider: 'Wider', later: 'Later →' }[name]}
                  kind="quiet small"
                />
              )
            );
          })}
        </nav>
      </div>
      <Chart span={span} bars={bars} />
      <p class="soft">
        Each bar is {stepText(step)}. The times of the timeline are in UTC
        <span data-with-script hidden>
          , those of the list in your time zone
        </span>
        .
        <span class="wide">
          {' '}
          Click on a bar to see its entries
          <span data-with-script hidden>
            , or drag over several
          </span>
          .
        </span>
      </p>
      {total > 0 && (
        <details>
          <summary>The timeline as a table</summary>
          <Table caption="Entries over time" columns={['From (UTC)', 'Entries']}>
            {filledBars.map(({ from, entries, address }) => (
              <tr>
                <th scope="row">
                  <a href={address}>{formatUtc(from)}</a>
                </th>
                <td>
                  <Numeral of={entries} />
                </td>
              </tr>
            ))}
          </Table>
        </details>
      )}
    </section>
  );
}

/** The bars. People who cannot see or point at them have the same links in the table. */
function Chart({ span: { from, to, step }, bars }: { span: Span; bars: Bar[] }) {
  const { formatNumber, formatDay } = usePage();
  const most = Math.max(...bars.map(({ entries }) => entries));
  const height = scaleLinear([0, Math.max(most, 1)], [0, BAR_HEIGHT - TOP]);
  const time = scaleUtc([from, to], [0, 100]);
  const ticks = time.ticks(4).filter((tick) => isLabelWithin(time(tick)));
  const width = 100 / bars.length;
  return (
    <svg
      class="timeline"
      width="100%"
      height={CHART_HEIGHT}
      aria-hidden="true"
      data-brush={`${from} ${step} ${bars.length}`}
    >
      <rect class="selection" data-selection x="0" y="0" width="0" height={BAR_HEIGHT} />
      {most > 0 && (
        <text x="0" y="12">
          {`at most ${formatNumber(most)}`}
        </text>
      )}
      {bars.map(({ entries, address, from }, index) => {
        if (entries === 0) return null;
        const tall = Math.max(height(entries), MIN_BAR);
        return (
          <a href={address} tabindex={-1}>
            <title>{`${formatUtc(from)} UTC: ${countText(entries, formatNumber, ENTRY.one, ENTRY.many)}`}</title>
            <rect
              class="area"
              x={`${index * width}%`}
              y="0"
              width={`${width}%`}
              height={BAR_HEIGHT}
            />
            <rect
              x={`${(index + 0.1) * width}%`}
              y={BAR_HEIGHT - tall}
              width={`${0.8 * width}%`}
              height={tall}
              rx="1"
            />
          </a>
        );
      })}
      <line x1="0" x2="100%" y1={BAR_HEIGHT} y2={BAR_HEIGHT} />
      <text x="0" y={CHART_HEIGHT - 6}>
        UTC
      </text>
      {ticks.map((tick) => (
        <text x={`${time(tick)}%`} y={CHART_HEIGHT - 6} text-anchor="middle">
          {tickText(tick, formatDay)}
        </text>
      ))}
    </svg>
  );
}

/**
 * Whether the label of a tick fits into the chart, to the right of its first label.
 * @param x the middle of the label, in percent of the width
 */
function isLabelWithin(x: number): boolean {
  return x > 16 && x < 94;
}

/** The label of a tick: a year, a day or a time of day. */
function tickText(tick: Date, formatDay: DayFormat): string {
  const [day = '', clock = ''] = tick.toISOString().split('T');
  if (!clock.startsWith('00:00:00')) return clock.slice(0, 8).replace(/:00$/, '');
  if (day.endsWith('-01-01')) return day.slice(0, 4);
  return formatDay(tick);
}

/** A time in UTC as the pages without script show it; a midnight is a date. */
export function formatUtc(time: number): string {
  const text = formatTime(time);
  const day = text.slice(0, 10);
  const clock = text.slice(11, 19).replace(/:00$/, '');
  if (clock === '00:00') return day;
  return `${day} ${clock}`;
}
