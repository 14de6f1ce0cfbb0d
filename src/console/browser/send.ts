/** Sends a request with a form or a value as JSON; throws an Error with the reason if it is refused. */
export async function send<T>(method: string, path: string, body?: URLSearchParams | object): Promise<T> {
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
  const text = await response.text();
  const answer = text === '' ? {} : JSON.parse(text);
  if (!response.ok) throw new Error(answer.detail ?? 'The service did not answer. Try again.');
  return answer as T;
}

/** Runs what a button does, and shows why it failed. */
export async function run(button: HTMLButtonElement | HTMLInputElement, action: () => Promise<void>): Promise<void> {
  const message = document.querySelector('#message');
  button.disabled = true;
  if (message) message.textContent = '';
  try {
    await action();
  } catch (error) {
    if (message) message.textContent = reasonOf(error as Error);
  } finally {
    button.disabled = false;
  }
}

function reasonOf({ name, message }: Error): string {
  const isCancelled = name === 'NotAllowedError' || name === 'AbortError';
  return isCancelled ? 'No passkey was used. Try again when you are ready.' : message;
}
