import { run } from './send';

/** Where the script is that verifies. It is loaded when somebody asks for it. */
const SCRIPT = '/console/assets/verify.js';

/** Makes the button work that verifies an entry of the audit log. */
export function startVerify(): void {
  const section = document.querySelector<HTMLElement>('[data-verify]');
  const button = section?.querySelector('button');
  if (!section || !button) return;
  button.addEventListener('click', () =>
    run(button, async () => {
      const { verifyEntry } = (await import(SCRIPT)) as typeof import('./verify');
      await verifyEntry(section);
    }),
  );
}
