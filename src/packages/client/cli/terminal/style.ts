import type { Io, Output } from '../io.ts';

export type Style = ReturnType<typeof styleFor>;

/**
 * Returns functions that colour a text: on a terminal, unless `NO_COLOR` is set
 * (https://no-color.org).
 */
export function styleFor(output: Output, { env }: Pick<Io, 'env'>) {
  const isOn = output.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
  const paint = (start: number, end: number) => (text: string) => {
    if (!isOn) return text;
    return `\x1b[${start}m${text}\x1b[${end}m`;
  };
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    inverse: paint(7, 27),
  };
}

/** Colours the status of a request, or a decision. */
export function colourStatus(status: string, style: Style): string {
  if (status === 'approved' || status === 'approve') return style.green(status);
  if (status === 'denied' || status === 'deny') return style.red(status);
  if (status === 'pending') return style.yellow(status);
  return status;
}
