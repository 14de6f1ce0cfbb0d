import { Problem } from '../../errors';
import { visibleText } from '../parts/text';
import type { Form } from './form';

/** A hidden field with the state that a form shows, so that {@link requireUnchanged} notices a later change. */
export function ShownState({ updatedAt }: { updatedAt: string }) {
  return <input type="hidden" name="updated_at" value={updatedAt} />;
}

/**
 * Refuses a form that was loaded before somebody else changed the object, so that it does not undo that change unnoticed.
 * The caller then shows the form again, and it can be sent once more.
 * @param updatedAt when the object was last changed
 * @param present the present values of the fields, in words
 * @param changes the fields that the form would change
 * @throws Problem `conflict`, which says what each field is now that the form would change
 */
export function requireUnchanged(
  what: string,
  form: Form,
  updatedAt: string,
  present: Record<string, string>,
  changes: object,
): void {
  if (form.text('updated_at') === updatedAt) return;
  const differing = Object.entries(present).filter(([name]) => Object.hasOwn(changes, name));
  throw new Problem('conflict', `${changedMeanwhile(what)} Check your changes and save again.`, {
    errors: differing.map(([name, text]) => ({
      path: `body.${name}`,
      message: text === '' ? 'is now empty' : `is now: ${visibleText(text)}`,
    })),
  });
}

/**
 * Refuses to switch an object on if it was changed after the page with the button was loaded: somebody may have switched
 * it off for a reason that the page does not show. Switching off is allowed from any page.
 * @throws Problem `conflict`
 */
export function requireUnchangedToActivate(what: string, form: Form, updatedAt: string): void {
  if (form.text('updated_at') === updatedAt) return;
  throw new Problem('conflict', `${changedMeanwhile(what)} This is how it is now: look at it, and then do it again.`);
}

function changedMeanwhile(what: string): string {
  return `The ${what} was changed since you opened the page.`;
}
