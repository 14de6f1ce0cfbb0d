import { showMessage } from './message';
import { isSessionEnded, SessionEnded } from './session-ended';

const SIGNED_IN_AGAIN =
  'You have signed in again since you opened the page. Copy what you typed, load the page again, ' +
  'and repeat it there.';

/**
 * Sends a request with a form or a value as JSON.
 * @throws SessionEnded on a page of somebody who is no longer signed in
 * @throws Error with the reason if the request is refused
 */
export async function send<T>(
  method: string,
  path: string,
  body?: URLSearchParams | object,
): Promise<T> {
  const isForm = body instanceof URLSearchParams;
  const csrf = document.querySelector<HTMLMetaElement>('meta[name="csrf-token"]')?.content;
  const response = await fetch(path, {
    method,
    headers: {
      Accept: 'application/json',
      ...(body !== undefined && !isForm && { 'Content-Type': 'application/json' }),
      ...(csrf !== undefined && { 'X-CSRF-Token': csrf }),
    },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
  }).catch(() => {
    throw new Error('There is no connection to the service. Nothing was changed. Try again.');
  });
  // Without a session, as on the page to sign in, the service says itself what it does not accept.
  if (response.status === 401 && csrf !== undefined) throw new SessionEnded();
  const text = await response.text();
  const answer = text === '' ? {} : JSON.parse(text);
  if (answer.code === 'wrong_credential' && csrf !== undefined) throw new Error(SIGNED_IN_AGAIN);
  if (!response.ok) throw new Error(answer.detail ?? 'The service did not answer. Try again.');
  return answer as T;
}

/** Runs what a button does, and shows why it failed. */
export async function run(
  button: HTMLButtonElement | HTMLInputElement,
  action: () => Promise<void>,
): Promise<void> {
  button.disabled = true;
  showMessage(button);
  try {
    await action();
  } catch (error) {
    showMessage(button, ...reasonOf(error));
  } finally {
    button.disabled = false;
  }
}

function reasonOf(error: unknown): (string | Node)[] {
  if (isSessionEnded(error)) {
    return ['Your session has ended: ', signInLink(), '. What you typed stays here.'];
  }
  if (!(error instanceof Error)) return [String(error)];
  if (error.name === 'NotAllowedError' || error.name === 'AbortError')
    return ['No passkey was used. Try again when you are ready.'];
  return [error.message];
}

function signInLink(): HTMLAnchorElement {
  const link = document.createElement('a');
  link.href = '/console/sign-in';
  link.target = '_blank';
  link.rel = 'noopener';
  link.textContent = 'sign in again on a new tab';
  return link;
}
