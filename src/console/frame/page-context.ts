import { createContext, useContext } from 'hono/jsx';
import type { Scope } from '../../http/context';
import { type DayFormat, dayFormat } from '../../lib/day-format';
import { formatInEnglish, type NumberFormat, percentFormat } from '../../lib/number-format';
import type { Names } from './names';

/** The values that every component of a page may use. */
interface PageValues {
  /** Marks the scripts and the htmx attributes that the Content-Security-Policy allows. */
  nonce: string;
  /** The CSRF token of the session; empty if nobody is signed in, like `sender`. */
  csrf: string;
  /** The mark of the forms of the person who is signed in. */
  sender: string;
  /** A random text that tells a form of this page from others with the same content. */
  once: string;
  /** The names that `Named` shows instead of ids, as far as the page has loaded them. */
  names: Names;
  /** Writes a number as the reader's language does. */
  formatNumber: NumberFormat;
  /** Writes a share of a whole as the reader's language does. */
  formatPercent: NumberFormat;
  /** Writes a day as the reader's language does. */
  formatDay: DayFormat;
  /** The time of the request, in milliseconds since the epoch. */
  now: number;
  /** Whether the reader signed in within the last 10 minutes. */
  isRecentSignIn: boolean;
  /** Whether the account is stopped. */
  isStopped: boolean;
  /** Whether the reader has a scope. */
  may: (scope: Scope) => boolean;
}

const PageContext = createContext<PageValues>({
  nonce: '',
  csrf: '',
  sender: '',
  once: '',
  names: new Map(),
  formatNumber: formatInEnglish,
  formatPercent: percentFormat('en'),
  formatDay: dayFormat('en'),
  now: 0,
  isRecentSignIn: false,
  isStopped: false,
  may: () => false,
});

export const PageProvider = PageContext.Provider;

export function usePage(): PageValues {
  return useContext(PageContext);
}
