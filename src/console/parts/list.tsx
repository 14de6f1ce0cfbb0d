import type { Child } from 'hono/jsx';
import type { Page } from '../../http/page';

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
      <a class="button quiet" href={withParameters(address, { cursor: page.next_cursor })} rel="next">
        {label}
      </a>
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
  const text = query.toString();
  return address.pathname + (text === '' ? '' : `?${text}`);
}

/** What a list says when there is nothing in it, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: Child }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

interface TableProps {
  caption: string;
  columns: string[];
  children: Child;
}

/** A table that scrolls by itself where the window is narrow. */
export function Table({ caption, columns, children }: TableProps) {
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

/** Names and values, one below the other. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: Child] | null | false)[] }) {
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
