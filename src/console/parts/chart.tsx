import { scaleLinear } from 'd3-scale';
import { Table } from './blocks';

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

/** Horizontal bars, each below its label and value, which lead to what it counts. The same numbers follow as a table. */
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
          <ul>
            {bars.map(({ label, value, text = value.toLocaleString('en'), href }) => {
              const row = (
                <>
                  <span>{label}</span> <span>{text}</span>
                  <svg width="100%" height="0.625em" aria-hidden="true">
                    <rect class="track" width="100%" height="100%" />
                    <rect width={`${percent(value)}%`} height="100%" />
                  </svg>
                </>
              );
              return <li>{href ? <a href={href}>{row}</a> : row}</li>;
            })}
          </ul>
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
