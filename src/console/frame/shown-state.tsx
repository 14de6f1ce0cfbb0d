import { Problem } from '../../errors';
import { visibleText } from '../parts/inline';
import type { Form } from './form';

/** A hidden field with the state that a form shows, so that {@link requireUnchanged} notices a later change. */
export function ShownState({ updatedAt }: { updatedAt: string }) {
  return <input type="hidden" name="updated_at" value={updatedAt} />;
}

/**
 * Keeps a form that was shown before somebody else made a change from undoing that change unnoticed. Shown again, the form
 * can be sent once more.
 * @param updatedAt when the thing was changed last
 * @param present what the fields are now, in words
 * @param changes what the form would change
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
 * Keeps a button on an old page from giving back what somebody took away meanwhile, such as from switching an agent on
 * that was changed since it was switched off. Switching off is allowed from any page.
 * @throws Problem `conflict`
 */
export function requireUnchangedToActivate(what: string, form: Form, updatedAt: string): void {
  if (form.text('updated_at') === updatedAt) return;
  throw new Problem('conflict', `${changedMeanwhile(what)} This is how it is now: look at it, and then do it again.`);
}

function changedMeanwhile(what: string): string {
  return `The ${what} was changed since you opened the page.`;
}
