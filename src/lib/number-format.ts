import { parseAccept } from 'hono/utils/accept';

/** Writes a number for people, with all its digits and the thousands grouped: `1,840.5`. */
export type NumberFormat = (value: number) => string;

/** How many languages of a reader are looked at. */
const MAX_LANGUAGES = 5;
/** As many digits after the decimal separator as a format may have. */
const MAX_FRACTION = 20;

/** The first language of an `Accept-Language` header (RFC 9110, section 12.5.4) that is known. */
export function localeOf(acceptLanguage: string | undefined): string {
  const languages = parseAccept(acceptLanguage ?? '').slice(0, MAX_LANGUAGES);
  return languages.map(({ type }) => type).find(isKnown) ?? 'en';
}

function isKnown(language: string): boolean {
  try {
    return Intl.NumberFormat.supportedLocalesOf(language).length > 0;
  } catch (error) {
    // It is no language tag, such as `*`.
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** The format of a locale, with the digits 0 to 9 and without unseen characters. */
export function numberFormat(locale: string): NumberFormat {
  const format = new Intl.NumberFormat(locale, {
    numberingSystem: 'latn',
    useGrouping: 'always',
    maximumFractionDigits: MAX_FRACTION,
  });
  return (value) => {
    const text = String(value);
    const [, fraction = ''] = text.split('.');
    if (text.includes('e') || fraction.length > MAX_FRACTION) return text;
    // Zero has no sign in JSON.
    return plainFormat(format.format(value + 0));
  };
}

/** The format of a locale for a share of a whole, without decimals: `0.42` is `42%`. */
export function percentFormat(locale: string): NumberFormat {
  return (share) =>
    plainFormat(share.toLocaleString(locale, { numberingSystem: 'latn', style: 'percent' }));
}

/** A formatted value without unseen characters, and with one kind of space. */
export function plainFormat(text: string): string {
  return text.replace(/\p{Zs}/gu, ' ').replace(/\p{Cf}/gu, '');
}

/** As `numberFormat('en')`, without the tables of languages: for readers of unknown language. */
export const formatInEnglish: NumberFormat = (value) =>
  String(value).replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ','));
