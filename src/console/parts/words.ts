import type { NumberFormat } from '../../lib/number-format';

/** The form of a noun or a verb that fits a number: `one` for 1, else `many`. */
export function pluralOf(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? one : many;
}

/** A number with its noun, such as `1,204 entries`. */
export function countText(
  count: number,
  formatNumber: NumberFormat,
  ...nouns: [one: string, many?: string]
): string {
  return `${formatNumber(count)} ${pluralOf(count, ...nouns)}`;
}

/** The state of what can be switched on and off, as badges name it. */
export function onOrOff(isOn: boolean): 'on' | 'off' {
  return isOn ? 'on' : 'off';
}

/** The label of the button that switches something that is on or off. */
export function switchLabel(isOn: boolean): string {
  return isOn ? 'Switch off' : 'Switch on';
}
