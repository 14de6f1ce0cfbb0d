const INBOX = '/console';
const SIGN_IN = '/console/sign-in';

/**
 * A cookie keeps the path during a sign-in with the identity provider, and browsers take at most
 * 4,096 bytes of one.
 */
const MAX_LENGTH = 2_000;

/** Stands for the origin of the service. */
const BASE = 'https://console.invalid';

/** The path of the sign-in page that leads back to a page of the console. */
export function signInPath(page: string): string {
  return pathWith(page, {});
}

/**
 * The path of the sign-in page for somebody whose sign-in is not recent, which leads back to a page
 * of the console. The identity provider is then asked to authenticate the person now.
 */
export function signInAgainPath(page: string): string {
  return pathWith(page, { recent: 'true' });
}

function pathWith(page: string, parameters: Record<string, string>): string {
  const path = readReturnPath(page);
  const query = new URLSearchParams({
    ...parameters,
    ...(path !== INBOX && { return: path }),
  }).toString();
  return query === '' ? SIGN_IN : `${SIGN_IN}?${query}`;
}

/**
 * The path of the page to which somebody wants to return after the sign-in. It is a page of the
 * console, whatever the text: the inbox for another address, such as that of another site, and for
 * one that is too long.
 */
export function readReturnPath(text: unknown): string {
  if (typeof text !== 'string' || !URL.canParse(text, BASE)) return INBOX;
  const { origin, pathname, search } = new URL(text, BASE);
  const isPage = origin === BASE && (pathname === INBOX || pathname.startsWith(`${INBOX}/`));
  const path = pathname + search;
  return isPage && path.length <= MAX_LENGTH ? path : INBOX;
}
