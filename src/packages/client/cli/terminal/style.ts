import type { Io, Output } from '../io.ts';

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  inverse: [7, 27],
} as const;

export type Style = Record<keyof typeof CODES, (text: string) => string>;

/**
 * Returns functions that colour a text: on a terminal, unless `NO_COLOR` is set
 * (https://no-color.org).
 */
export function styleFor(output: Output, { env }: Pick<Io, 'env'>): Style {
  const isOn = output.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
  const entries = Object.entries(CODES).map(([name, [start, end]]) => [
    name,
    (text: string) => (isOn ? `\x1b[${start}m${text}\x1b[${end}m` : text),
  ]);
  return Object.fromEntries(entries) as Style;
}

/** Colours the status of a request, or a decision. */
export function colourStatus(status: string, style: Style): string {
  const colour = {
    approved: style.green,
    approve: style.green,
    denied: style.red,
    deny: style.red,
    pending: style.yellow,
  };
  return colour[status as keyof typeof colour]?.(status) ?? status;
}
