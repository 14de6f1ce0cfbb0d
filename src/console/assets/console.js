// Passkeys need JavaScript. Everything else on the pages works without it.
const { startAuthentication, startRegistration } = globalThis.SimpleWebAuthnBrowser;
const message = document.querySelector('#message');
const csrf = document.querySelector('meta[name="csrf-token"]')?.content;

/** Sends a request as JSON; throws an Error with the reason if it is refused. */
async function send(method, path, body) {
  const response = await fetch(path, {
    method,
    headers: {
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(csrf && { 'X-CSRF-Token': csrf }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const answer = text === '' ? {} : JSON.parse(text);
  if (!response.ok) throw new Error(answer.detail ?? 'The service did not answer. Try again.');
  return answer;
}

/** Runs what a button does, and shows why it failed. */
function onClick(button, action) {
  button.addEventListener('click', async () => {
    button.disabled = true;
    message.textContent = '';
    try {
      await action();
    } catch (error) {
      const isCancelled = error.name === 'NotAllowedError' || error.name === 'AbortError';
      message.textContent = isCancelled ? 'No passkey was used. Try again when you are ready.' : error.message;
    } finally {
      button.disabled = false;
    }
  });
}

for (const button of document.querySelectorAll('[data-passkey]')) {
  const { action, passkey } = button.dataset;
  onClick(button, async () => {
    const input = (button.closest('section') ?? document).querySelector('input[name="name"]');
    if (input && !input.reportValidity()) return;
    const optionsJSON = await send('POST', `${action}/options`);
    const response = await (passkey === 'make'
      ? startRegistration({ optionsJSON })
      : startAuthentication({ optionsJSON }));
    const { location } = await send('POST', action, { response, ...(input && { name: input.value }) });
    if (location) globalThis.location.assign(location);
    else globalThis.location.reload();
  });
}

for (const button of document.querySelectorAll('[data-remove]')) {
  onClick(button, async () => {
    await send('DELETE', button.dataset.remove);
    globalThis.location.reload();
  });
}
