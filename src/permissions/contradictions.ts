import type { Json } from '../lib/json';
import type { Preview } from './preview';
import { compareRestated, type Restatement } from './restated-argument';

/** A field of a preview that differs from the argument that it restates. */
export interface Contradiction {
  field: NonNullable<Preview['fields']>[number];
  result: Exclude<Restatement, { kind: 'same' }>;
}

/**
 * Finds the fields of a preview that differ from the arguments that they restate, or name an
 * argument that does not exist.
 * @param input undefined if the service does not have the arguments
 */
export function findContradictions(
  { fields = [] }: Preview,
  input: Json | undefined,
): Contradiction[] {
  if (input === undefined) return [];
  return fields.flatMap((field) => {
    if (field.of === undefined) return [];
    const result = compareRestated(field.value, field.of, input);
    return result.kind === 'same' ? [] : [{ field, result }];
  });
}
