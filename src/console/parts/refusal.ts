import { createContext, useContext } from 'hono/jsx';
import type { Refusal } from '../frame/form';

const RefusalContext = createContext<Refusal | undefined>(undefined);

/** Passes the refusal of a form to the fields inside it, so that each can show its own fault. */
export const RefusalProvider = RefusalContext.Provider;

/** Why the surrounding form was refused; undefined if it was not. */
export function useRefusal(): Refusal | undefined {
  return useContext(RefusalContext);
}

/**
 * The text to show in a field: what was typed, if the surrounding form was refused; otherwise
 * `value`.
 */
export function useTyped(name: string, value: string | undefined): string | undefined {
  return useRefusal()?.typed[name] ?? value;
}

/**
 * Returns why the field at a path of the API, or a field below that path, was refused; undefined if
 * none was.
 */
export function useFault(path: string): string | undefined {
  return [...(useRefusal()?.faults ?? [])].find(
    ([at]) => at === path || at.startsWith(`${path}.`),
  )?.[1];
}
