import type { AuditEntry } from '../audit/entry';
import type { FileAccount } from '../audit/find-file-range';
import { publicFileId } from '../files/file';
import type { FileRow } from '../files/file-records';
import { formatTime } from '../lib/time';
import type { Control, LogTree, ReportContent } from './content';
import { type ControlDefinition, FRAMEWORKS } from './controls';
import { MAX_DRAWS, SAMPLE_SIZE } from './draw-sample';
import { QUICK_DECISION_MS, RETRY_WINDOW } from './entry-group';
import { findExceptions } from './find-exceptions';
import type { PeriodFacts } from './gather-facts';
import { MAX_LISTED_ACTIVITY } from './read-account';
import { reportRequest } from './report';
import { formatCount, prose } from './wording';
import { type Findings, writeFindings } from './write-findings';

/**
 * Composes the content of a report: adds the findings, the exceptions and the description of the
 * report itself.
 */
export function composeReport(
  file: FileRow,
  account: FileAccount,
  integrity: LogTree | null,
  facts: PeriodFacts,
  sample: AuditEntry[],
): ReportContent {
  const { report_type, period } = reportRequest(file);
  const { name, controls } = FRAMEWORKS[report_type];
  const { summary, months, agents, outcomes, deciders, activity } = facts;
  const findings = writeFindings(facts);
  return {
    report_id: publicFileId(file),
    report_type,
    framework: name,
    account,
    period,
    generated_at: formatTime(file.createdAt),
    statement: describePurpose(file),
    integrity,
    scope: describeScope(file, facts),
    method: [...describeMethod(file, facts, sample), describeIntegrity(integrity)],
    summary,
    months,
    agents,
    outcomes,
    deciders,
    controls: controls.map((control) => composeControl(control, findings)),
    exceptions: findExceptions(facts),
    activity,
    sample,
  };
}

function composeControl(control: ControlDefinition, findings: Findings): Control {
  const { id, title, not_covered } = control;
  const evidence = control.evidence.map((name) => findings[name]);
  const [illustration] = (control.illustrations ?? [])
    .map((name) => findings[name])
    .filter(({ entries }) => entries > 0)
    .toSorted((a, b) => b.entries - a.entries);
  if (illustration) {
    const text = `To illustrate the design, and not as evidence that it operated: ${illustration.text}`;
    evidence.push({ ...illustration, text });
  }
  return { id, title, evidence, not_covered };
}

function describeIntegrity(integrity: LogTree | null): string {
  if (!integrity)
    return 'The log could not be sealed when the report was made: nothing shows that it is as it was written.';
  return (
    `The log had ${formatCount(integrity.tree_size, 'entry', 'entries')} when the report was requested, including those before the period and those ` +
    `erased since. They are the leaves of a Merkle tree (RFC 9162) whose root is ${integrity.root_hash}. That the log of today begins with ` +
    `them is proven at GET /v1/audit/consistency?from=${integrity.tree_size}, and that an entry is among them by its proof, against heads ` +
    'that the service has signed. This shows that entries were not changed since they were sealed, within two minutes of being ' +
    'written; it does not show that what they say is true. Somebody with the signing key could sign another log. Only a head that ' +
    'somebody else has kept reveals that.'
  );
}

function describePurpose(file: FileRow): string {
  const { report_type, period } = reportRequest(file);
  const evidence =
    'This report is evidence, not attestation: it states what the audit log of the service holds, for an auditor to test. ' +
    'It is no opinion on whether a control is met, no certificate, and no report of an auditor.';
  if (report_type === 'soc2_type1') {
    return (
      `${evidence} It is about the design of the controls at a point in time, and not about how they operated: about agents and policies ` +
      `as they stood when the report was made, after ${formatTime(file.createdAt)}, and about the log up to ${period.end}.`
    );
  }
  if (report_type === 'soc2_type2') {
    return (
      `${evidence} It is about the operation of the controls throughout the period, from ${period.start} to ${period.end}, as far as ` +
      'its scope says that the log covers it.'
    );
  }
  return evidence;
}

function describeScope(file: FileRow, { summary, sequences }: PeriodFacts): string[] {
  const { period, from, to } = reportRequest(file);
  const requestedAt = formatTime(file.createdAt);
  const scope = [`The period is ${period.start} to ${period.end}, both days included, in UTC.`];
  if (file.keptFrom > from)
    scope.push(
      `Entries before ${formatTime(file.keptFrom)} are no longer kept by the account’s plan: that part of the period is not covered, nor is the ` +
        'activity of that time.',
    );
  if (to > file.createdAt)
    scope.push(`The last day was not over when the report was requested, at ${requestedAt}.`);
  let held = `The account’s audit log held no entry of the period at ${requestedAt}.`;
  if (sequences)
    held =
      prose`It covers ${formatCount(summary.entries, 'entry', 'entries')} of the account’s audit log, with sequences from ${sequences.first} to ` +
      prose`${sequences.last}, as they stood at ${requestedAt}.`;
  return [
    ...scope,
    `${held} Entries of deleted agents are erased, and not counted.`,
    'It covers what agents asked for through the service, what was decided, and what tokens were used for. It does not cover the ' +
      'systems that agents act on, or access that does not go through the service.',
    'Agents, policies and members are described as they stood when the report was made; what changed them before is in the ' +
      'account activity. A removed member keeps name and role for seven days longer than the plan keeps entries.',
  ];
}

function describeMethod(file: FileRow, facts: PeriodFacts, sample: AuditEntry[]): string[] {
  return [
    'Every entry that the scope covers was counted; nothing was extrapolated. Sentences say how many entries are behind them, and ' +
      'name the first ones, or the first and the last. Each can be read at GET /v1/audit/{id} as long as the plan keeps it and its ' +
      'agent is not deleted. Sentences on the configuration and on the account activity name none.',
    'A request is counted in the month in which it was made, a decision in the month in which it was taken. Tokens used are tokens ' +
      'with a use in the period, counted once, at the first use; requests that expired are those that nobody decided. An expiry ' +
      'is counted when the service recorded it.',
    'Decisions by a policy are the policy’s. All others are called people’s, also where a program holds the credential: the log ' +
      'records them under the member whose credential it was, or under the account if it was one of the account’s own user tokens. ' +
      'Where several people voted, the decision is that of the last one; the other votes are counted separately, when the request ends.',
    'A quick decision came ' +
      `within ${QUICK_DECISION_MS / 1_000} seconds of the request. A denial was retried if the same agent asked for the same action on the ` +
      `same resource among its next ${RETRY_WINDOW} requests for that action.`,
    `Key rotations and configuration changes are from the account activity: the newest ${MAX_LISTED_ACTIVITY} of each.`,
    describeSample(file, facts, sample),
  ];
}

function describeSample(
  file: FileRow,
  { samplePopulation: { first, size } }: PeriodFacts,
  sample: AuditEntry[],
): string {
  if (sample.length === 0) return 'There was nothing to draw a sample from.';
  return (
    `The sample has ${formatCount(sample.length, 'entry', 'entries')}, in the order in which they were drawn. Draw n, from 0, is the sequence ` +
    `${first} + (the first 48 bits of SHA-256("${publicFileId(file)}:n") modulo ${size}). Sequences ` +
    'drawn before, erased entries and those of deleted agents were skipped. The drawing ended with ' +
    prose`${SAMPLE_SIZE} entries, when every sequence had been drawn, or after ${MAX_DRAWS} draws.`
  );
}
