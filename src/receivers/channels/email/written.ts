import { withScriptsMark } from '../../../lib/scripts';
import { shorten } from '../../../lib/text';
import { showUnseen } from '../../../lib/unseen';
import type { MailRecipient } from './mail';

// Texts that agents and people wrote, in the form in which a mail may show them.

/** One line that an agent or a person wrote, ready to be shown in a body. */
export interface Written {
  written: string;
  /** Whether it is shown as code, as the names are that an agent gives its limits. */
  isCode?: true;
}

/** Maximum number of lines of one text, so that it does not push the link out of sight. */
const MAX_LINES = 20;
const MAX_NAME = 60;

/** Invisible, without width, and no place at which a line may wrap. */
const WORD_JOINER = '\u2060';

/**
 * Each place next to a character that separates the parts of a URL, a host name, a mail address or
 * a UNC path, if no white space is beside that character; and the middle of a Markdown link.
 * U+3002, U+FF0E and U+FF61 are full stops in host names (UTS #46).
 */
const LINK_SEAMS =
  /(?<=\S)(?=[.:/\\@\u3002\uff0e\uff61]\S)|(?<=\S[.:/\\@\u3002\uff0e\uff61])(?=\S)|(?<=\])(?=\()/g;

/** Quotation marks, which would close the quotation in which a subject shows a text. */
const QUOTES = /["«»“”„‟″＂]/g;

/** Characters with a meaning in an address header (RFC 5322 section 3.2.3), and quotation marks. */
const ADDRESS_SPECIALS = /[()<>[\]:;@\\,."«»“”„‟″＂]/g;

/**
 * One line of a body: a text of at most `max` characters, with unseen characters as code points and
 * a mark if a word mixes scripts, which clients do not link.
 */
export function writtenLine(text: string, max: number): Written {
  return { written: preventLinks(withScriptsMark(toShortLine(text, max))) };
}

/** The label of a limit, as code. */
export function writtenLabel(label: string): Written {
  return { written: preventLinks(withScriptsMark(label)), isCode: true };
}

/**
 * The lines of a text of at most `max` characters and 20 lines, shown as {@link writtenLine} shows
 * one line.
 */
export function writtenLines(text: string, max: number): string[] {
  const lines = showUnseen(shorten(text, max).replace(/\r\n?/g, '\n'), { hasLines: true })
    .replaceAll('\t', ' ')
    .trim()
    .replace(/\n{3,}/g, '\n\n')
    .split('\n')
    .map((line) => preventLinks(withScriptsMark(line.trimEnd())));
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES), '…'];
}

/**
 * A text for a subject: one quoted line with at most `max` characters between the quotation marks,
 * none of which is a quotation mark. Links need no prevention there, because clients do not link
 * subjects, and filters distrust subjects with invisible characters.
 */
export function quoteForSubject(text: string, max: number): string {
  return `“${shorten(inHeader(toShortLine(text, max)).replace(QUOTES, "'"), max)}”`;
}

/**
 * The recipient with a name that needs no quoting in an address header; without one if nothing of
 * it is left.
 */
export function safeRecipient({ address, name }: MailRecipient): MailRecipient {
  const line = inHeader(toShortLine((name ?? '').replace(ADDRESS_SPECIALS, ' '), MAX_NAME));
  return { address, name: line === '' ? null : line };
}

/**
 * Breaks the start of encoded words (RFC 2047), which clients decode in a header: they can hold any
 * character.
 */
function inHeader(line: string): string {
  return line.replaceAll('=?', '= ?');
}

/**
 * One line of at most `max` characters, with unseen characters as code points. Cuts the text before
 * and after these take their place, which are longer.
 */
export function toShortLine(text: string, max: number): string {
  const line = showUnseen(shorten(text, 2 * max).normalize(), { hasLines: true })
    .replace(/\s+/g, ' ')
    .trim();
  return shorten(line, max);
}

/**
 * Keeps clients from turning URLs, host names and addresses in a text into links, in HTML and in
 * plain text alike, where markup cannot.
 *
 * Inserts a word joiner on both sides of each separator: `example.com` is then no host name to any
 * pattern. A joiner before the full stop alone is enough for most clients, but Android's patterns
 * accept it in a label. After the full stop it also makes the last label an unknown top-level
 * domain. A scheme must be broken as well, or `https://example` remains. In contrast to `[.]` and
 * `hxxp`, which analysts use, the text looks exactly as it was written; and a zero-width space
 * would let a host name wrap at its full stops.
 *
 * The text must not have joiners of its own: as unseen characters they are shown as code points
 * before.
 */
function preventLinks(text: string): string {
  return text.replace(LINK_SEAMS, WORD_JOINER);
}

/** Maximum number of characters of a text in lines of its own. */
export const MAX_TEXT = 1_000;

/** Maximum number of characters of a title or a name. */
export const MAX_LINE = 200;
