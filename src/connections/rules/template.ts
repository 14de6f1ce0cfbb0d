/**
 * A field of a call by its dotted name, in braces: `{amount}`, `{charge.id}`. A name has no braces
 * and no empty part.
 */
const NAME = '[^{}.]+(?:\\.[^{}.]+)*';

/** Matches each field in a title; its first group is the name. */
export const FIELD_REFERENCES = new RegExp(`\\{(${NAME})\\}`, 'g');

const ONE_REFERENCE = new RegExp(`^\\{(${NAME})\\}$`);

/** The name of the field in a text that is one field in braces; null for any other text. */
export function fieldOfReference(text: string): string | null {
  return ONE_REFERENCE.exec(text)?.[1] ?? null;
}

/** Says what is wrong with a title; null if it is a text in which braces stand around fields. */
export function findTitleFault(text: string): string | null {
  if (/^\s*$/.test(text)) return 'must not be blank';
  const rest = text.replace(FIELD_REFERENCES, '');
  if (/[{}]/.test(rest)) return 'must have braces only around names of fields, such as {amount}';
  return null;
}
