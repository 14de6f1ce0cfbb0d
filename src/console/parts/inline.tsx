import type { Child } from 'hono/jsx';
import { duration } from '../../lib/duration';
import type { Json } from '../../lib/json';
import { describeScripts, findMixedWords } from '../../lib/scripts';
import { shorten } from '../../lib/text';
import { MINUTE } from '../../lib/time';
import { type Lines, nameCharacter, showUnseen, unseenPattern } from '../../lib/unseen';
import { valueText } from '../../permissions/limit-texts';
import { usePage } from '../frame/page-context';
import { countText } from './words';

/**
 * A text that an agent or a person wrote, isolated from the direction of the text around it. Each
 * unseen character is shown as its code point, with `hasLines` all but line feeds and tabs, and a
 * word that mixes scripts has a mark.
 */
export function Written({ text, hasLines = false }: { text: string; hasLines?: boolean }) {
  return <bdi class={heightOf(text)}>{showText(text, { hasLines })}</bdi>;
}

/**
 * A text for a narrow column, such as a resource: it breaks after punctuation rather than within a
 * word. Where the style sheet cuts it off, the tooltip has all of it.
 */
export function Breakable({ text }: { text: string }) {
  return (
    <bdi class={['breakable', heightOf(text)].filter(Boolean).join(' ')} title={toOneLine(text)}>
      {showText(text).map(letBreak)}
    </bdi>
  );
}

/** Lets a text break after each sign between its words. */
function letBreak(part: Child): Child {
  if (typeof part !== 'string') return part;
  const words = part.split(/(?<=[:/.@_?&=])(?=\p{L}|\p{N})/u);
  return words.map((word, index) => (index === 0 ? word : [<wbr />, word]));
}

/** A value of a request's limits, with numbers as the reader's language writes them. */
export function Value({ of }: { of: Json | undefined }) {
  return <Written text={valueText(of, usePage().formatNumber)} />;
}

/** A number as the reader's language writes it. */
export function Numeral({ of }: { of: number }) {
  return <>{usePage().formatNumber(of)}</>;
}

/** A number with its noun, such as `1,204 entries`. */
export function Count({ of, one, many }: { of: number; one: string; many?: string }) {
  return <>{countText(of, usePage().formatNumber, one, many)}</>;
}

/** The class of a text whose marks are higher than a line; none for others. */
function heightOf(text: string): 'tall' | undefined {
  return /\p{M}{3}/u.test(text) ? 'tall' : undefined;
}

/**
 * Maximum number of characters of a text without a box of its own, in which longer texts scroll.
 */
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

/**
 * Splits a text into parts, so that each unseen character is shown as its code point, and each word
 * that mixes scripts is followed by a mark.
 */
export function showText(text: string, lines?: Lines): Child[] {
  const parts: Child[] = [];
  let start = 0;
  for (const { end, scripts } of findMixedWords(text)) {
    parts.push(...escapeUnseen(text.slice(start, end), lines));
    parts.push(<span class="mixed"> {describeScripts(scripts)}</span>);
    start = end;
  }
  return [...parts, ...escapeUnseen(text.slice(start), lines)];
}

function escapeUnseen(text: string, lines?: Lines): Child[] {
  const parts: Child[] = [];
  let end = 0;
  for (const { 0: character, index } of text.matchAll(unseenPattern(lines))) {
    if (index > end) parts.push(text.slice(end, index));
    parts.push(<span class="unseen">{nameCharacter(character)}</span>);
    end = index + character.length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

/**
 * Turns a text into one line of plain text, for titles and labels. Each unseen character becomes
 * its code point, but line feeds and tabs count as white space: each run of white space becomes one
 * space. The result is trimmed and in NFC.
 */
export function toOneLine(text: string): string {
  return showUnseen(text.normalize(), { hasLines: true }).replace(/\s+/g, ' ').trim();
}

/** An id or another text for programs, in a monospaced font. */
export function Code({ text }: { text: string }) {
  return <code class={heightOf(text)}>{showText(text)}</code>;
}

/** Joins elements with commas; `last` is the separator before the last element, such as ` or `. */
export function joinElements(things: readonly Child[], last = ', '): Child[] {
  return things.flatMap((thing, index) => {
    if (index === 0) return [thing];
    const isLast = index === things.length - 1;
    return [isLast ? last : ', ', thing];
  });
}

/** A JSON value as indented text. */
export function JsonText({ value, label }: { value: unknown; label: string }) {
  return (
    <section class="scrolls" tabindex={0} aria-label={label}>
      <pre>{showText(JSON.stringify(value, null, 2), { hasLines: true })}</pre>
    </section>
  );
}

/** Maximum number of characters of a name where a long one would push others out of sight. */
const MAX_SHORT_NAME = 60;

/**
 * A name that people gave, with the id as its tooltip; the id alone if there is no name.
 * @param props.isShort whether a long name is shortened, as in a narrow column
 */
export function Named({ id, isShort = false }: { id: string; isShort?: boolean }) {
  const name = usePage().names.get(id);
  if (name === undefined) return <Code text={id} />;
  return (
    <bdi title={id} class={heightOf(name)}>
      {isShort ? showText(shorten(name, MAX_SHORT_NAME)).map(letBreak) : showText(name)}
    </bdi>
  );
}

/** Who made something, by its `created_by`. */
export function Creator({ id }: { id: string | null }) {
  if (id === null) return 'not recorded';
  return <Named id={id} />;
}

/** A link with a text that an agent or a person wrote. */
export function WrittenLink({ href, text }: { href: string; text: string }) {
  return (
    <a href={href}>
      <Written text={text} />
    </a>
  );
}

interface TimeProps {
  at: string;
  toSeconds?: boolean;
  /** Whether it names the time zone, as where somebody may take it down as evidence. */
  hasZone?: boolean;
}

/**
 * A time to the minute, or to the second. The script shows it in the reader's zone; the tooltip and
 * the page without script have UTC.
 */
export function Time({ at, toSeconds = false, hasZone = false }: TimeProps) {
  const utc = utcText(at, { toSeconds });
  return (
    <time
      datetime={at}
      title={utc}
      data-seconds={toSeconds ? '' : undefined}
      data-zone={hasZone ? '' : undefined}
    >
      {utc}
    </time>
  );
}

/** A time of the API in UTC, such as `2026-01-31 12:00 UTC`. */
function utcText(at: string, { toSeconds = false } = {}): string {
  const day = at.slice(0, 10);
  const clock = at.slice(11, toSeconds ? 19 : 16);
  return `${day} ${clock} UTC`;
}

/** How long until a time, in words of two units at most. The script counts down. */
export function TimeLeft({ until }: { until: string }) {
  const left = Date.parse(until) - usePage().now;
  return (
    <time
      datetime={until}
      title={utcText(until)}
      data-left
      class={left < 10 * MINUTE ? 'urgent' : undefined}
    >
      {left > 0 ? `${duration(left)} left` : 'expired'}
    </time>
  );
}

/** How long ago a time was. */
export function TimeSince({ at }: { at: string }) {
  const passed = Math.max(0, usePage().now - Date.parse(at));
  return (
    <time datetime={at} title={utcText(at)} data-since>
      {`${duration(passed)} ago`}
    </time>
  );
}

/** The colour of each state's badge, by what the state means to the reader. */
const TONES: Record<string, 'good' | 'bad' | 'waiting' | 'neutral'> = {
  pending: 'waiting',
  approved: 'good',
  denied: 'bad',
  expired: 'neutral',
  active: 'good',
  used: 'neutral',
  revoked: 'bad',
  invited: 'waiting',
  suspended: 'bad',
  removed: 'neutral',
  approve: 'good',
  deny: 'bad',
  review: 'waiting',
  queued: 'waiting',
  processing: 'waiting',
  completed: 'good',
  failed: 'bad',
  succeeded: 'good',
  on: 'good',
  off: 'neutral',
  exhausted: 'waiting',
  short: 'bad',
};

/** A state in one word. The word says it; the colour only repeats it. */
export function Badge({ state, label = state }: { state: string; label?: string }) {
  return <span class={`badge ${TONES[state] ?? 'neutral'}`}>{label}</span>;
}

/**
 * Pairs of a text in the user agent and the common name of the browser or system. The first text
 * that occurs decides.
 */
const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;
const SYSTEMS = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const;

/** Maximum number of characters of a program's own name. */
const MAX_NAME = 40;

/** From which device a request came, in words: `Firefox on Windows`, or the name of the program. */
export function deviceName(userAgent: string): string {
  const find = (marks: typeof BROWSERS | typeof SYSTEMS) =>
    marks.find(([mark]) => userAgent.includes(mark))?.[1];
  const known = [find(BROWSERS), find(SYSTEMS)].filter(Boolean).join(' on ');
  const program = userAgent.split(/[\s/]/, 1)[0]?.slice(0, MAX_NAME);
  return known || program || 'Unknown device';
}

/** The device from which a request came. */
export function Device({ userAgent }: { userAgent: string }) {
  return <Written text={deviceName(userAgent)} />;
}
