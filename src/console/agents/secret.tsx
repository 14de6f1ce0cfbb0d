interface SecretProps {
  text: string;
  label: string;
}

/** A text to copy: one click selects all of it. */
export function Secret({ text, label }: SecretProps) {
  return (
    <section class="scrolls" tabindex={0} aria-label={label}>
      <pre class="secret">{text}</pre>
    </section>
  );
}
