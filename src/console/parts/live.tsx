import type { Child } from 'hono/jsx';
import { usePage } from '../frame/page-context';

interface LiveProps {
  id: string;
  /** The address of the part. */
  address: string;
  /** How often it is loaded again, in seconds. */
  seconds: number;
  /** The title that the document then has. */
  title: string;
  /** Whether it stays as it is while the pointer is over it or something in it has the focus. */
  pauses?: boolean;
  /** Whether it still changes. */
  isLive?: boolean;
  children: Child;
}

/** A part of the page that keeps itself up to date. Without JavaScript it stays as it was loaded. */
export function Live({ id, address, seconds, title, pauses, isLive = true, children }: LiveProps) {
  const { nonce } = usePage();
  // Another kind of element, which replaces the live one: htmx keeps the timer of an element that it only changes.
  if (!isLive) return <section id={id}>{children}</section>;
  const attributes = {
    'hx-nonce': nonce,
    'hx-get': address,
    'hx-trigger': `every ${seconds}s`,
    'hx-swap': 'outerMorph',
    'data-title': `${title} · Countersign`,
    ...(pauses && { 'data-pauses': '' }),
  };
  return (
    <div id={id} {...attributes}>
      {children}
    </div>
  );
}
