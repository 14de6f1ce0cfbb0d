import { Written } from './text';

/** What a browser or system writes into its user agent, and how people call it. The first that occurs is the right one. */
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
export function Device({ userAgent }: { userAgent: string }) {
  const find = (marks: typeof BROWSERS | typeof SYSTEMS) => marks.find(([mark]) => userAgent.includes(mark))?.[1];
  const known = [find(BROWSERS), find(SYSTEMS)].filter(Boolean).join(' on ');
  const program = userAgent.split(/[\s/]/, 1)[0]?.slice(0, MAX_NAME);
  return <Written text={known || program || 'Unknown device'} />;
}
