import type { ModalView } from './blocks';

/**
 * Maximum size of the body of a request. Its signature can be verified only once all of it was
 * read.
 */
export const MAX_PAYLOAD_BYTES = 64 * 1024;

/**
 * How many bytes of a payload Slack fills besides the view: who acted, where, and how to answer.
 */
const MAX_ENVELOPE_BYTES = 4 * 1024;

/** How many bytes Slack adds to each block, such as a `block_id`. */
const MAX_ADDED_TO_BLOCK = 64;

/** Maximum bytes of one typed character: two code units, each escaped as in `%5Cud834`. */
const MAX_TYPED_CHARACTER = 16;

/**
 * Whether Slack can send a view back in a request that the service reads: with the state of its
 * fields, and with a text of `typed` characters in one of them.
 */
export function canBeSubmitted(view: ModalView, typed: number): boolean {
  const added =
    view.blocks.length * MAX_ADDED_TO_BLOCK + typed * MAX_TYPED_CHARACTER + MAX_ENVELOPE_BYTES;
  return sizeInPayload(view) + sizeInPayload(largestState(view)) + added <= MAX_PAYLOAD_BYTES;
}

/** The state of the fields of a view with every box checked. */
function largestState({ blocks }: ModalView): object[] {
  return blocks
    .filter((block) => block.type === 'input')
    .map(({ block_id, element: { type, action_id = '', ...element } }) => {
      const chosen = 'options' in element ? element.options : null;
      const value = 'initial_value' in element ? element.initial_value : null;
      return { [block_id]: { [action_id]: { type, chosen, value } } };
    });
}

/**
 * Each character that is longer in a payload than one byte. Slack may also escape `&`, `<` and `>`
 * as entities.
 */
const LONGER = /[^\w .*-]/g;

/**
 * The maximum size of a value in a payload: JSON in which slashes and all but ASCII are escaped, in
 * a form.
 */
function sizeInPayload(value: object): number {
  const text = JSON.stringify(value);
  let size = text.length;
  for (const [character] of text.matchAll(LONGER)) size += sizeOfCharacter(character) - 1;
  return size;
}

function sizeOfCharacter(unit: string): number {
  if (/[&<>]/.test(unit)) return '%26amp%3B'.length;
  if (unit > '\x7f') return '%5Cu20ac'.length;
  if (unit === '/') return '%5C%2F'.length;
  return '%22'.length;
}
