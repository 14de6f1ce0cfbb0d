import type { Child } from 'hono/jsx';
import { nameCharacter, UNSEEN, UNSEEN_IN_LINES } from '../../lib/unseen';

interface WrittenProps {
  text: string;
  /** Whether the place shows line feeds and tabs as such. */
  hasLines?: boolean;
}

/** A text that an agent or a person wrote: plain text in its own direction, with the characters marked that one cannot see. */
export function Written({ text, hasLines = false }: WrittenProps) {
  return <bdi>{showUnseen(text, hasLines)}</bdi>;
}

/** Longer texts scroll in a box of their own. */
const MAX_UNBOXED = 600;

/** A text of several lines that an agent or a person wrote. */
export function WrittenText({ text, label }: { text: string; label: string }) {
  const content = (
    <p class="written">
      <Written text={text} hasLines />
    </p>
  );
  if (text.length <= MAX_UNBOXED) return content;
  return (
    <section class="scrolls" tabindex={0} aria-label={label}>
      {content}
    </section>
  );
}

/** The parts of a text, in which each unseen character is its code point. */
export function showUnseen(text: string, hasLines = false): Child[] {
  const parts: Child[] = [];
  let end = 0;
  for (const { 0: character, index } of text.matchAll(hasLines ? UNSEEN_IN_LINES : UNSEEN)) {
    if (index > end) parts.push(text.slice(end, index));
    parts.push(<span class="unseen">{nameCharacter(character)}</span>);
    end = index + character.length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

/** A text in one line of plain text as pages show it: each unseen character is its code point. */
export function visibleText(text: string): string {
  return text.replace(UNSEEN_IN_LINES, nameCharacter).replace(/\s+/g, ' ').trim().normalize();
}

/** An id or another text for programs, in a font with characters of one width. */
export function Code({ text }: { text: string }) {
  return <code>{showUnseen(text)}</code>;
}

/** A JSON value as indented text. */
export function JsonText({ value, label }: { value: unknown; label: string }) {
  return (
    <section class="scrolls" tabindex={0} aria-label={label}>
      <pre>{showUnseen(JSON.stringify(value, null, 2), true)}</pre>
    </section>
  );
}

/** A name that people gave, with the id as its tooltip; the id alone if there is no name. */
export function Named({ id, names }: { id: string; names: ReadonlyMap<string, string> }) {
  const name = names.get(id);
  return name === undefined ? <Code text={id} /> : <bdi title={id}>{showUnseen(name)}</bdi>;
}
