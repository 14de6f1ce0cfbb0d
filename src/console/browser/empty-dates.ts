const FIELDS = 'input:is([type="date"], [type="time"], [type="datetime-local"])';

/**
 * Marks the fields for days and times that are empty. WebKit shows the present day or time in them,
 * as if they were filled in; the style sheet hides it.
 */
export function markEmptyDates(): void {
  const mark = ({ target }: { target: EventTarget | null }) => {
    if (!(target instanceof HTMLInputElement) || !target.matches(FIELDS)) return;
    // A field in which a part is missing has no value yet.
    target.toggleAttribute('data-empty', target.value === '' && !target.validity.badInput);
  };
  for (const target of document.querySelectorAll<HTMLInputElement>(FIELDS)) mark({ target });
  for (const type of ['input', 'change', 'focusout']) document.addEventListener(type, mark);
}
