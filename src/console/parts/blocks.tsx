import type { Child } from 'hono/jsx';
import type { Page } from '../../http/page';
import { shorten } from '../../lib/text';
import { Written } from './inline';

interface SectionProps {
  /** Tells the section from the others of its page. */
  name: string;
  title: Child;
  class?: string;
  id?: string;
  children: Child;
}

/** A part of a page below a heading. */
export function Section({ name, title, class: className = 'card', id, children }: SectionProps) {
  return (
    <section class={className} id={id} aria-labelledby={`${name}-title`}>
      <h2 id={`${name}-title`}>{title}</h2>
      {children}
    </section>
  );
}

/** Maximum number of characters of a name among choices. */
const MAX_CHOICE = 40;

/** How many things a page of a list has. */
export const PAGE_SIZE = 50;

/** The link to the next page of a list; nothing on the last one. */
export function NextPage({
  page,
  address,
  label = 'Older',
}: {
  page: Pick<Page<unknown>, 'next_cursor'>;
  address: URL;
  label?: string;
}) {
  if (page.next_cursor === null) return null;
  return (
    <p class="actions">
      <LinkButton
        href={withParameters(address, { cursor: page.next_cursor })}
        label={label}
        kind="quiet"
        rel="next"
      />
    </p>
  );
}

/** The path and query of an address with some parameters changed; null removes one. */
export function withParameters(address: URL, parameters: Record<string, string | null>): string {
  const query = new URLSearchParams(address.search);
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  if (query.size === 0) return address.pathname;
  return `${address.pathname}?${query}`;
}

/** Says that a list has nothing in it, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: Child }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** A table that scrolls by itself where the window is narrow. */
export function Table({
  caption,
  columns,
  children,
}: {
  caption: string;
  columns: string[];
  children: Child;
}) {
  return (
    <section class="table" aria-label={`Table: ${caption}`} tabindex={0}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col">{column}</th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

/** A list of what something is limited to; `all` if it is not limited. */
export function ListOrAll({
  values,
  show,
  all,
}: {
  values: readonly string[] | null | undefined;
  show: (value: string) => Child;
  all: string;
}) {
  if (!values) return <>{all}</>;
  return <PlainList items={values.map(show)} />;
}

/** Things one below the other. */
export function PlainList({ items }: { items: readonly Child[] }) {
  return (
    <ul>
      {items.map((item) => (
        <li>{item}</li>
      ))}
    </ul>
  );
}

/** Names and values, one below the other. */
export function Facts({
  facts,
}: {
  facts: readonly (readonly [name: string, value: Child] | null | false)[];
}) {
  return (
    <dl class="facts">
      {facts.map(
        (fact) =>
          fact && (
            <div>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

interface LinkButtonProps {
  href: string;
  label: string;
  /** By default the button is the main one of its page. */
  kind?: 'quiet' | 'quiet small' | 'small';
  rel?: string;
}

/** A link that looks like a button. */
export function LinkButton({ href, label, kind, rel }: LinkButtonProps) {
  return (
    <a class={kind === undefined ? 'button' : `button ${kind}`} href={href} rel={rel}>
      {label}
    </a>
  );
}

interface TabsProps<T> {
  label: string;
  /** The value of each tab, with its name. */
  tabs: readonly (readonly [value: T, name: string])[];
  current: T;
  address: (value: T) => string;
}

/** Links to the views of a page, shown as tabs. */
export function Tabs<T>({ label, tabs, current, address }: TabsProps<T>) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(([value, name]) => (
        <a href={address(value)} aria-current={value === current ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}

interface ChoicesProps {
  label: string;
  /** The value of each choice, with its name. */
  choices: readonly (readonly [value: string, name: string])[];
  current: string;
  address: (value: string) => string;
}

/** Links that limit a list to one value, in one line. */
export function Choices({ label, choices, current, address }: ChoicesProps) {
  return (
    <nav class="pills" aria-label={label}>
      {choices.map(([value, name]) => (
        <a href={address(value)} aria-current={value === current ? 'true' : undefined}>
          <Written text={shorten(name, MAX_CHOICE)} />
        </a>
      ))}
    </nav>
  );
}

/** A text with a button to copy it. Without the script one click selects all of it. */
export function ToCopy({ id, text, label }: { id: string; text: string; label: string }) {
  return (
    <section class="to-copy" aria-label={label}>
      <pre id={id}>{text}</pre>
      <button type="button" class="quiet small" data-copy={id} aria-live="polite" hidden>
        Copy
      </button>
    </section>
  );
}

interface CodeTabsProps {
  label: string;
  /** The pieces of code, each with an id and a name. */
  codes: readonly (readonly [id: string, name: string, code: string])[];
}

/** Several pieces of code. The radio buttons choose which one is shown. */
export function CodeTabs({ label, codes }: CodeTabsProps) {
  return (
    <fieldset class="code-tabs">
      <legend class="hidden">{label}</legend>
      {codes.map(([id, name, code], index) => (
        <>
          <input
            type="radio"
            name="code"
            id={`tab-${id}`}
            checked={index === 0}
            autocomplete="off"
          />
          <label for={`tab-${id}`}>{name}</label>
          <ToCopy id={id} text={code} label={name} />
        </>
      ))}
    </fieldset>
  );
}

/** A closed box with the ids and other texts that programs need for what the page shows. */
export function ForPrograms({
  facts,
  children,
}: {
  facts: Parameters<typeof Facts>[0]['facts'];
  children?: Child;
}) {
  return (
    <details class="card">
      <summary>For programs</summary>
      <Facts facts={facts} />
      {children}
    </details>
  );
}
