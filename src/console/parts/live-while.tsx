import { Live, type LiveProps } from '../frame/page';

/** A part of the page that keeps itself up to date while something is in progress. */
export function LiveWhile({ isLive, ...props }: LiveProps & { isLive: boolean }) {
  if (isLive) return <Live {...props} />;
  // Another kind of element, which replaces the live one: htmx keeps the timer of an element that it only changes.
  return <section id={props.id}>{props.children}</section>;
}
