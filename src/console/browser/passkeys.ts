import {
  browserSupportsWebAuthn,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser';
import { run, send } from './send';

/**
 * Makes the buttons work that need a passkey. `data-passkey` is `make` or `use`, `data-action` the
 * path to which the passkey's response is sent, `data-return` the page to which somebody then
 * returns; `data-remove` is the path of what the button removes.
 */
export function startPasskeys(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-passkey]')) {
    button.addEventListener('click', () => run(button, () => usePasskey(button)));
  }
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-remove]')) {
    button.addEventListener('click', () =>
      run(button, async () => {
        await send('DELETE', button.dataset.remove ?? '');
        location.reload();
      }),
    );
  }
  for (const form of document.querySelectorAll<HTMLFormElement>('form[data-sign]')) {
    form.addEventListener('submit', (event) => signDecision(event, form));
  }
}

/**
 * @throws Error that says how to go on, in a browser that cannot use passkeys
 */
function requireWebAuthn(): void {
  if (browserSupportsWebAuthn()) return;
  const instead = document.querySelector<HTMLDetailsElement>('details[data-no-passkey]');
  if (instead) instead.open = true;
  throw new Error(
    'This browser cannot use passkeys. Open the page in a current Chrome, Edge, Firefox or Safari' +
      (instead ? ', or sign in with a user token below.' : '.'),
  );
}

async function usePasskey(button: HTMLButtonElement): Promise<void> {
  requireWebAuthn();
  const action = button.dataset.action ?? '';
  const fields = (button.closest('section') ?? document).querySelectorAll<HTMLInputElement>(
    'input:is([name="name"], [name="member_name"])',
  );
  if (![...fields].every((field) => field.reportValidity())) return;
  const filled = [...fields].filter(({ value }) => value.trim() !== '');
  const ask = button.dataset.passkey === 'make' ? makePasskey : getAssertion;
  const response = await ask(`${action}/options`);
  const answer = await send<{ location?: string }>('POST', action, {
    response,
    ...Object.fromEntries(filled.map(({ name, value }) => [name, value])),
    ...(button.dataset.return !== undefined && { return: button.dataset.return }),
  });
  if (answer.location === undefined) location.reload();
  else location.assign(answer.location);
}

async function makePasskey(optionsPath: string) {
  const optionsJSON = await send<PublicKeyCredentialCreationOptionsJSON>('POST', optionsPath);
  return startRegistration({ optionsJSON });
}

async function getAssertion(optionsPath: string) {
  const optionsJSON = await send<PublicKeyCredentialRequestOptionsJSON>('POST', optionsPath);
  return startAuthentication({ optionsJSON });
}

/**
 * Signs a decision with a passkey before its form is sent, if the button that sends it has
 * `data-sign`. The service writes the statement from what the form says; the passkey signs it.
 */
function signDecision(event: SubmitEvent, form: HTMLFormElement): void {
  const button = event.submitter;
  const isSigned = form.querySelector<HTMLInputElement>('input[name="assertion"]')?.value !== '';
  if (!(button instanceof HTMLButtonElement)) return;
  if (button.dataset.sign === undefined || isSigned) return;
  event.preventDefault();
  // Before the button is disabled: then its value would be left out.
  const fields = new URLSearchParams(
    new FormData(form, button) as unknown as Record<string, string>,
  );
  run(button, async () => {
    requireWebAuthn();
    const { options, signed_at } = await send<SignatureRequest>(
      'POST',
      form.dataset.sign ?? '',
      fields,
    );
    const response = await startAuthentication({ optionsJSON: options });
    setField(form, 'assertion', JSON.stringify(response));
    setField(form, 'signed_at', signed_at);
    button.disabled = false;
    form.requestSubmit(button);
  });
}

interface SignatureRequest {
  options: PublicKeyCredentialRequestOptionsJSON;
  signed_at: string;
}

function setField(form: HTMLFormElement, name: string, value: string): void {
  const field = form.querySelector<HTMLInputElement>(`input[name="${name}"]`);
  if (field) field.value = value;
}
