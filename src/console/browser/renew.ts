import { run } from './send';

/**
 * Sends a form that was kept while its person signed in on another tab (`data-renew`): first gets
 * the CSRF token of the new session. Without it the service refuses the form once, and shows it
 * again with the token.
 */
export function startRenewing(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>('form[data-renew]')) {
    form.addEventListener('submit', (event) => {
      const button = event.submitter;
      if (!(button instanceof HTMLButtonElement) || form.dataset.renew !== '') return;
      event.preventDefault();
      run(button, async () => {
        fieldOf(form, 'csrf').value = await loadToken(fieldOf(form, 'sender').value);
        form.dataset.renew = 'done';
        button.disabled = false;
        form.requestSubmit(button);
      });
    });
  }
}

/**
 * Loads the CSRF token of the session; throws an Error with what to do if the person has not signed
 * in.
 */
async function loadToken(sender: string): Promise<string> {
  const headers = { Accept: 'application/json', 'X-Form-Sender': sender };
  const answer = await fetch('/console/csrf-token', { headers }).catch(() => {
    throw new Error('There is no connection to the service. Nothing was sent. Try again.');
  });
  if (answer.status === 401)
    throw new Error('You are not signed in yet. Sign in on a new tab first.');
  const { csrf, detail } = (await answer.json()) as { csrf?: string; detail?: string };
  if (csrf === undefined) throw new Error(detail ?? 'The service did not answer. Try again.');
  return csrf;
}

function fieldOf(form: HTMLFormElement, name: string): HTMLInputElement {
  return form.elements.namedItem(name) as HTMLInputElement;
}
