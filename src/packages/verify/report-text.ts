import { type Fault, formatEntries, type Report } from './core/findings.ts';

/**
 * Characters that move the cursor, change the direction of text or start a new line. A file could
 * use them to fake output.
 */
const CONTROL_CHARACTERS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/**
 * Escapes the control characters in a text that may contain data of a file, so that it is safe to
 * print on one line.
 */
export function escapeControls(text: string): string {
  return text.replace(
    CONTROL_CHARACTERS,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** The result of a verification in one word. */
export function verdictOf({
  faults,
  unchecked,
}: Pick<Report, 'faults' | 'unchecked'>): 'proven' | 'wrong' | 'unchecked' {
  if (faults.length > 0) return 'wrong';
  return unchecked.length > 0 ? 'unchecked' : 'proven';
}

/** Formats a report for people. */
export function describeReport(report: Report): string {
  const { checkpoint, faults } = report;
  const [proven, limits, unchecked] = [report.proven, report.limits, report.unchecked].map(
    (texts) => texts.map((text) => `  ${escapeControls(text)}`),
  ) as [string[], string[], string[]];
  const head = checkpoint
    ? [
        `Log         ${escapeControls(String(report.log))}`,
        `Checkpoint  ${formatEntries(checkpoint.tree_size)} on ${checkpoint.timestamp}, root ${checkpoint.root_hash}`,
        `Signed by   ${escapeControls(report.key ?? 'not checked')}`,
        '',
      ]
    : ['Without proof', ''];
  if (faults.length > 0) return [...head, describeFaults(faults)].join('\n');
  const condition = report.refused ? 'What holds nevertheless:' : 'If these are in order, then:';
  return [
    ...head,
    describeVerdict(report),
    ...unchecked,
    ...(unchecked.length > 0 && proven.length > 0 ? ['', condition] : []),
    ...proven,
    ...(limits.length > 0 ? ['', 'What this does not show:'] : []),
    ...limits,
  ].join('\n');
}

function describeVerdict({ refused, unchecked, checkpoint }: Report): string {
  if (refused) return 'Not proven.';
  if (unchecked.length === 0) return 'Proven.';
  const subject = checkpoint ? 'The file matches its proof, but not' : 'Not';
  return `Not proven. ${subject} everything could be checked:`;
}

/** Formats the faults with their evidence. */
export function describeFaults(faults: Fault[]): string {
  const lines = faults.flatMap(({ kind, message, evidence }) => [
    `  ${escapeControls(message)}. [${kind}]`,
    ...Object.entries(evidence).map(
      ([name, value]) =>
        `    ${name.replaceAll('_', ' ')}: ${escapeControls(String(value ?? 'none'))}`,
    ),
  ]);
  return ['WRONG.', ...lines].join('\n');
}
