import type { Child } from 'hono/jsx';
import { LinkButton, Section, ToCopy } from './blocks';

interface SecretProps {
  /** The name of the secret, such as `The key`. */
  title: string;
  text: string;
  /** A sentence on the purpose of the secret, or on who can do what with it. */
  purpose: Child;
  /** Further notes, such as how long it works. */
  children?: Child;
}

/** A secret that no other page shows. */
export function Secret({ title, text, purpose, children }: SecretProps) {
  return (
    <Section name="secret" title={title}>
      <p>
        <strong>Copy it now: it is shown only this once.</strong> {purpose}
      </p>
      <ToCopy id="secret" text={text} label={title} />
      {children}
    </Section>
  );
}

/** The way on from a page with a secret, and further ones. */
export function AfterSecret({ next, children }: { next: string; children?: Child }) {
  return (
    <p class="actions">
      <LinkButton href={next} label="I have copied it" />
      {children}
    </p>
  );
}
