interface ToCopyProps {
  id: string;
  text: string;
  label: string;
}

/** A text with a button to copy it. Without the script one click selects all of it. */
export function ToCopy({ id, text, label }: ToCopyProps) {
  return (
    <section class="to-copy" aria-label={label}>
      <pre id={id}>{text}</pre>
      <button type="button" class="quiet small" data-copy={id} aria-live="polite" hidden>
        Copy
      </button>
    </section>
  );
}
