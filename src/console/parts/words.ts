/** The form of a noun or a verb that fits a number: `one` for 1, else `many`. */
export function pluralOf(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? one : many;
}

/** The state of what can be switched on and off, as badges name it. */
export function onOrOff(isOn: boolean): 'on' | 'off' {
  return isOn ? 'on' : 'off';
}

/** The label of the button that switches something that is on or off. */
export function switchLabel(isOn: boolean): string {
  return isOn ? 'Switch off' : 'Switch on';
}
