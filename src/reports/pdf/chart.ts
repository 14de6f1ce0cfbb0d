import type { Content, Shape } from 'pdfmake/js/Printer.js';
import { formatMonth, formatNumber } from '../wording';
import { COLORS, TEXT_WIDTH } from './style';

/** A figure with one value for each month. Each month of the chart has one bar for each series. */
interface Series {
  name: string;
  color: string;
  values: number[];
}

/**
 * The space for the scale, the legend and the months' names around the bars, and the height of all;
 * in points.
 */
const LEFT = 44;
const TOP = 22;
const BOTTOM = 18;
const HEIGHT = 172;
const PLOT_WIDTH = TEXT_WIDTH - LEFT;
const PLOT_HEIGHT = HEIGHT - TOP - BOTTOM;
/** How many steps the scale has above 0. */
const STEPS = 4;
/** The width of one entry of the legend. */
const LEGEND_WIDTH = 66;

/** A bar chart grouped by month (`YYYY-MM`), with a scale and a legend. */
export function monthlyChart(months: string[], series: Series[]): Content {
  const top = scaleTop(Math.max(...series.flatMap(({ values }) => values)));
  const y = (value: number) => TOP + PLOT_HEIGHT * (1 - value / top);
  const group = PLOT_WIDTH / months.length;
  const bar = Math.min((group * 0.76) / series.length, 14);
  const inset = (group - bar * series.length) / 2;
  const scale = Array.from({ length: STEPS + 1 }, (_, step) => (top / STEPS) * step);
  const bars = months.flatMap((_, month) =>
    series.map(({ color, values }, at) => {
      const value = values[month] ?? 0;
      const x = LEFT + month * group + inset + at * bar;
      return rectangle(x, y(value), bar * 0.9, y(0) - y(value), color);
    }),
  );
  const names = months.map((month, at) => {
    const [name, year] = formatMonth(month).split(' ');
    const text = `${name} ${year?.slice(2)}`;
    return label(LEFT + at * group, HEIGHT - BOTTOM + 4, group, 'center', text);
  });
  const legend = series.map(({ name }, at) =>
    label(LEFT + at * LEGEND_WIDTH + 12, 0, LEGEND_WIDTH - 12, 'left', name),
  );
  const boxes = series.map(({ color }, at) => rectangle(LEFT + at * LEGEND_WIDTH, 1, 8, 8, color));
  const numbers = scale.map((value) =>
    label(0, y(value) - 5, LEFT - 6, 'right', formatNumber(value)),
  );
  const lines = scale.map((value): Shape => {
    const lineColor = value === 0 ? COLORS.muted : COLORS.rule;
    const height = y(value);
    return {
      type: 'line',
      x1: LEFT,
      y1: height,
      x2: TEXT_WIDTH,
      y2: height,
      lineWidth: 0.5,
      lineColor,
    };
  });
  return {
    stack: [...legend, ...numbers, ...names, { canvas: [...boxes, ...lines, ...bars] }],
    unbreakable: true,
    margin: [0, 2, 0, BOTTOM + 8],
  };
}

/**
 * The top of the scale: the first of 4, 8, 12, 16, 20, 40, 80, 120, … that is at least `value`. Its
 * quarters are whole.
 */
function scaleTop(value: number): number {
  for (let power = 1; ; power *= 10) {
    const top = [4, 8, 12, 16, 20].map((factor) => factor * power).find((one) => one >= value);
    if (top !== undefined) return top;
  }
}

function rectangle(x: number, y: number, w: number, h: number, color: string): Shape {
  return { type: 'rect', x, y, w, h, color };
}

/** A text in a box. Its place is relative to the upper left corner of the chart. */
function label(
  x: number,
  y: number,
  width: number,
  alignment: 'left' | 'center' | 'right',
  text: string,
): Content {
  return {
    columns: [{ text, width, alignment, fontSize: 7, color: COLORS.muted }],
    relativePosition: { x, y },
  };
}
