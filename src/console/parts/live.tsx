import type { Child } from 'hono/jsx';
import { usePage } from '../frame/page-context';

interface LivePartProps {
  id: string;
  /** The URL from which the part is loaded again. */
  source: string;
  /** Seconds between two loads. */
  seconds: number;
  /**
   * The title of the document, if it may contain a count: the script sets it again after each load.
   */
  title?: string;
  /**
   * When loads are skipped: while somebody moves the pointer over the part, or as long as the
   * pointer is there or something in the part has the focus.
   */
  pauses?: 'moving' | 'pointing';
  /** Whether the part is loaded again at all; false once its content is final. */
  reloads?: boolean;
  children: Child;
}

/**
 * A part of the page that reloads itself at an interval. Without JavaScript it stays as it was
 * first loaded.
 */
export function LivePart({
  id,
  source,
  seconds,
  title,
  pauses,
  reloads = true,
  children,
}: LivePartProps) {
  const { nonce } = usePage();
  // A <section> instead of a <div>, so that htmx replaces the element: one that it only changes
  // would keep its timer.
  if (!reloads) return <section id={id}>{children}</section>;
  const attributes = {
    'hx-nonce': nonce,
    'hx-get': source,
    'hx-trigger': `every ${seconds}s`,
    'hx-swap': 'outerMorph',
    ...(title !== undefined && { 'data-title': `${title} · Countersign` }),
    ...(pauses && { 'data-pauses': pauses }),
  };
  return (
    <div id={id} {...attributes}>
      {children}
    </div>
  );
}
