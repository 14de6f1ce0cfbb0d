/** A text that is shown only this once, with a button to copy it. Without the script it is selected with one click. */
export function Secret({ text, label }: { text: string; label: string }) {
  return (
    <section class="secret" aria-label={label}>
      <code id="secret">{text}</code>
      <button type="button" class="quiet small" data-copy="secret" aria-live="polite" hidden>
        Copy
      </button>
    </section>
  );
}
