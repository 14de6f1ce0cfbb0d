import { count, type Fault, type Report } from './findings.ts';

/** A report in a few lines for people. */
export function describeReport(report: Report): string {
  const { log, checkpoint, key, proven, limits, unchecked, faults } = report;
  const head = [
    `Log         ${log}`,
    `Checkpoint  ${count(checkpoint.tree_size, 'entry', 'entries')} on ${checkpoint.timestamp}, root ${checkpoint.root_hash}`,
    `Signed by   ${key ?? 'not checked'}`,
    '',
  ];
  if (faults.length > 0) return [...head, describeFailure(faults)].join('\n');
  const verdict =
    unchecked.length > 0 ? 'Not proven. File and proof fit together, but not everything could be checked:' : 'Proven.';
  return [
    ...head,
    verdict,
    ...unchecked.map((text) => `  ${text}`),
    ...(unchecked.length > 0 ? ['', 'If that is in order, then:'] : []),
    ...proven.map((text) => `  ${text}`),
    ...(limits.length > 0 ? ['', 'What this does not show:'] : []),
    ...limits.map((text) => `  ${text}`),
  ].join('\n');
}

/** What is wrong, with the evidence. */
export function describeFailure(faults: Fault[]): string {
  const lines = faults.flatMap(({ kind, message, evidence }) => [
    `  ${message}. [${kind}]`,
    ...Object.entries(evidence).map(([name, value]) => `    ${name.replaceAll('_', ' ')}: ${value ?? 'none'}`),
  ]);
  return ['WRONG.', ...lines].join('\n');
}
