import { scaleLinear } from 'd3-scale';
import { Table } from './list';

/** One bar of a chart. */
interface Bar {
  label: string;
  value: number;
  /** How the value reads, if not as a plain number. */
  text?: string;
  /** Where one finds what the bar counts; undefined if the reader may not see that. */
  href?: string | undefined;
}

interface BarChartProps {
  title: string;
  /** What the labels and the values are, for the heads of the table. */
  columns: [label: string, value: string];
  bars: readonly Bar[];
  /** What stands here if all values are 0. */
  nothing: string;
}

// Lengths in the size of the text, so that the chart grows with it.
const ROW = 2.75;
const BASELINE = 1.1;
const TOP = 1.6;
const THICKNESS = 0.625;

/** Horizontal bars, each with its label and value above it and leading to what it counts. The same numbers follow as a table. */
export function BarChart({ title, columns, bars, nothing }: BarChartProps) {
  const greatest = Math.max(0, ...bars.map(({ value }) => value));
  const percent = scaleLinear([0, greatest], [0, 100]);
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
      </figcaption>
      {greatest === 0 ? (
        <p class="soft">{nothing}</p>
      ) : (
        <>
          <svg aria-label={title} width="100%" height={`${bars.length * ROW}em`}>
            {bars.map(({ label, value, text = value.toLocaleString('en'), href }, index) => {
              const y = index * ROW;
              const row = (
                <>
                  <rect class="row" y={`${y}em`} width="100%" height={`${ROW - 0.25}em`} />
                  <text y={`${y + BASELINE}em`}>{label}</text>
                  <text x="100%" y={`${y + BASELINE}em`} text-anchor="end">
                    {text}
                  </text>
                  <rect class="track" y={`${y + TOP}em`} width="100%" height={`${THICKNESS}em`} />
                  <rect class="length" y={`${y + TOP}em`} width={`${percent(value)}%`} height={`${THICKNESS}em`} />
                </>
              );
              return href ? (
                <a href={href} aria-label={`${label}: ${text}`}>
                  {row}
                </a>
              ) : (
                <g>{row}</g>
              );
            })}
          </svg>
          <details>
            <summary>As a table</summary>
            <Table caption={title} columns={columns}>
              {bars.map(({ label, value, href }) => (
                <tr>
                  <th scope="row">{href ? <a href={href}>{label}</a> : label}</th>
                  <td>{value.toLocaleString('en')}</td>
                </tr>
              ))}
            </Table>
          </details>
        </>
      )}
    </figure>
  );
}
