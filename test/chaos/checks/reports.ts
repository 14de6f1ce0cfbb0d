import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Downloaded } from '../downloads.ts';
import type { Findings } from '../findings.ts';
import type { Memory, ShownEntry } from '../memory.ts';

const EVENTS = ['request', 'approve', 'deny', 'use', 'expire', 'revoke'];
const TOOLS = { qpdf: '--version', pdftotext: '-v' };

/** The counts of a report by name: `entries`, and one per event type. */
type Figures = Map<string, number>;

/** The programs that checking PDF needs and that are not installed. */
export function missingTools(): string[] {
  return Object.entries(TOOLS).flatMap(([tool, option]) =>
    spawnSync(tool, [option]).error ? [tool] : [],
  );
}

/**
 * Checks that a report counts every entry. If the account loses entries, their number is unknown,
 * and only the report's own figures are compared.
 */
export function checkReport(
  findings: Findings,
  { traits }: Memory,
  file: Downloaded,
  entries: ShownEntry[],
): void {
  if (file.format === 'pdf') checkForm(findings, file);
  const told = file.format === 'pdf' ? readPdf(file) : readJson(file);
  const sum = EVENTS.reduce((sum, event) => sum + (told.get(event) ?? 0), 0);
  const about = `${file.format} reports`;
  findings.check(
    told.get('entries') === sum,
    about,
    () => `${file.id}: ${told.get('entries')} entries, but the event types add up to ${sum}`,
  );
  if (traits.isOld || traits.losesAgents) return;
  for (const [name, count] of countEntries(entries)) {
    const isSame = (told.get(name) ?? 0) === count;
    findings.check(isSame, about, () => `${file.id}: ${name} is ${told.get(name)}, not ${count}`);
  }
}

function countEntries(entries: ShownEntry[]): Figures {
  const counts = EVENTS.map((event): [string, number] => [
    event,
    entries.filter(({ event_type }) => event_type === event).length,
  ]);
  return new Map([['entries', entries.length], ...counts]);
}

function readJson({ path }: Downloaded): Figures {
  const { summary } = JSON.parse(readFileSync(path, 'utf8')) as {
    summary: { entries: number; by_event_type: Record<string, number> };
  };
  return new Map([['entries', summary.entries], ...Object.entries(summary.by_event_type)]);
}

/** The figures on the summary page of a PDF. */
function readPdf({ path }: Downloaded): Figures {
  const { stdout } = spawnSync('pdftotext', ['-layout', path, '-'], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  const [, total = ''] =
    /^ *([\d,]+) [ \d,]*\n+ *Audit entries +Agents +Requests/m.exec(stdout) ?? [];
  const table = stdout.slice(stdout.lastIndexOf('Audit entries by event'));
  // The table has no row for an event that did not happen.
  const events = EVENTS.flatMap((event): [string, number][] => {
    const [, count] = new RegExp(`^ *${event} +([\\d,]+)$`, 'im').exec(table) ?? [];
    return count === undefined ? [] : [[event, readNumber(count)]];
  });
  return new Map([['entries', readNumber(total)], ...events]);
}

/** Parses "1,234" as 1234; NaN for an empty text. */
function readNumber(text: string): number {
  return text === '' ? Number.NaN : Number(text.replaceAll(',', ''));
}

function checkForm(findings: Findings, { id, path }: Downloaded): void {
  const { status, stdout, stderr } = spawnSync('qpdf', ['--check', path], { encoding: 'utf8' });
  findings.check(status === 0, 'pdf reports', () => `${id} is not a valid PDF: ${stdout}${stderr}`);
}
