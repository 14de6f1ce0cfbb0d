import { fileId } from '../../files/file';
import type { FileRow } from '../../files/file-records';
import { formatTime } from '../../lib/time';
import type { FileAccount } from '../find-file-range';
import type { Control, Finding, LogTree, ReportContent, SampledEntry } from './content';
import { type ControlDefinition, FRAMEWORKS } from './controls';
import { MAX_DRAWS, SAMPLE_SIZE } from './draw-sample';
import { QUICK_DECISION, RETRY_REQUESTS } from './figures';
import { findExceptions } from './find-exceptions';
import type { PeriodFacts } from './gather-facts';
import { LISTED_RECORDS } from './read-account';
import { reportRequest } from './report';
import { formatCount, formatNumber } from './wording';
import { type Findings, writeFindings } from './write-findings';

/**
 * Writes the content of a report: its own description, the figures, the controls with their findings, and the
 * exceptions.
 */
export function composeReport(
  file: FileRow,
  owner: FileAccount,
  integrity: LogTree | null,
  facts: PeriodFacts,
  sample: SampledEntry[],
): ReportContent {
  const { report_type, period } = reportRequest(file);
  const { name, controls } = FRAMEWORKS[report_type];
  const { summary, months, agents, deciders, activity } = facts;
  const findings = writeFindings(facts);
  return {
    report_id: fileId(file),
    report_type,
    framework: name,
    account: owner,
    period,
    generated_at: formatTime(file.createdAt),
    statement: describePurpose(file),
    integrity,
    scope: describeScope(file, facts),
    method: [...describeMethod(file, facts, sample), describeIntegrity(integrity)],
    summary,
    months,
    agents,
    deciders,
    controls: controls.map((control) => composeControl(control, findings)),
    exceptions: findExceptions(facts),
    activity,
    sample,
  };
}

function composeControl({ id, title, not_covered, ...names }: ControlDefinition, findings: Findings): Control {
  const evidence = names.evidence.map((name) => findings[name]);
  const illustrations = (names.illustrations ?? []).map((name) => findings[name]);
  return { id, title, evidence: [...evidence, ...pickIllustration(illustrations)], not_covered };
}

/** The finding with the most entries, if any has entries. */
function pickIllustration(findings: Finding[]): Finding[] {
  const [best] = findings.filter(({ entries }) => entries > 0).toSorted((a, b) => b.entries - a.entries);
  if (!best) return [];
  return [{ ...best, text: `To illustrate the design, and not as evidence that it operated: ${best.text}` }];
}

function describeIntegrity(integrity: LogTree | null): string {
  if (!integrity)
    return 'The log could not be sealed when the report was made: nothing shows that it is as it was written.';
  return (
    `The log had ${formatCount(integrity.tree_size, 'entry', 'entries')} when the report was asked for, those before the period and those erased since ` +
    `included. They are the leaves of a Merkle tree (RFC 9162) whose root is ${integrity.root_hash}. That the log of today begins with ` +
    `these is proven at GET /v1/audit/consistency?from=${integrity.tree_size}, and that an entry is among them by its proof, against heads ` +
    'that the service has signed. This shows that entries were not changed since they were sealed, within two minutes of being ' +
    'written; not that what they say is true. Whoever holds the signing key could sign another log: only a head that ' +
    'somebody else has kept shows that.'
  );
}

function describePurpose(file: FileRow): string {
  const { report_type, period } = reportRequest(file);
  const evidence =
    'This report is evidence, not attestation: it states what the audit log of the service holds, for an auditor to test. ' +
    'It is no opinion on whether a control is met, no certificate, and no report of an auditor.';
  if (report_type === 'soc2_type1') {
    return (
      `${evidence} It speaks of the design of the controls at a point in time, and not of how they operated: of agents and policies ` +
      `as they stood when the report was made, after ${formatTime(file.createdAt)}, and of the log up to ${period.end}.`
    );
  }
  if (report_type === 'soc2_type2') {
    return (
      `${evidence} It speaks of the operation of the controls throughout the period, from ${period.start} to ${period.end}, as far as ` +
      'its scope says that the log covers it.'
    );
  }
  return evidence;
}

function describeScope(file: FileRow, { summary, sequences }: PeriodFacts): string[] {
  const { period, from, to } = reportRequest(file);
  const requestedAt = formatTime(file.createdAt);
  return [
    `The period is ${period.start} to ${period.end}, both days included, in UTC.`,
    ...(file.keptFrom > from
      ? [
          `Entries before ${formatTime(file.keptFrom)} are no longer kept by the account’s plan: that part of the period is not ` +
            'covered, of its activity neither.',
        ]
      : []),
    ...(to > file.createdAt ? [`The last day was not over when the report was asked for, at ${requestedAt}.`] : []),
    sequences
      ? `It covers ${formatCount(summary.entries, 'entry', 'entries')} of the account’s audit log, with sequences from ${formatNumber(sequences.first)} to ` +
        `${formatNumber(sequences.last)}, as they stood at ${requestedAt}. Entries of deleted agents are erased, and left out.`
      : `The account’s audit log held no entry of the period at ${requestedAt}. Entries of deleted agents are erased, and left out.`,
    'It covers what agents asked for through the service, what was decided, and what tokens were used for. It does not cover the ' +
      'systems that agents act on, or access that does not go through the service.',
    'Agents and policies are described as they stood when the report was made; what changed them before is in the account ' +
      'activity.',
  ];
}

function describeMethod(file: FileRow, { samplePopulation }: PeriodFacts, sample: SampledEntry[]): string[] {
  return [
    'Every entry that the scope covers was counted; nothing was extrapolated. Sentences name the first entries behind them, or the ' +
      'first and the last, and how many there are. Each can be read at GET /v1/audit/{id} as long as the plan keeps it and its agent ' +
      'is not deleted. Sentences on the configuration and on the account activity have none.',
    'A request is counted in the month in which it was made, a decision in that in which it was taken. Tokens used are tokens ' +
      'with a use in the period, however many, counted at the first; requests that expired are those that nobody decided. What ran ' +
      'out is counted when the service noted it.',
    'Decisions by a policy are the policy’s. All others were taken with a user token and are called people’s, also where a program ' +
      'holds the token; the log records them under the account. A quick decision came ' +
      `within ${QUICK_DECISION / 1_000} seconds of the request. A denial was tried again if the same agent asked for the same action on the ` +
      `same resource among its next ${RETRY_REQUESTS} requests for that action.`,
    `Key rotations and configuration changes are from the account activity, of each the newest ${LISTED_RECORDS}.`,
    sample.length === 0
      ? 'There was nothing to draw a sample from.'
      : `The sample has ${formatCount(sample.length, 'entry', 'entries')}, in the order in which they were drawn. Draw n, from 0, is ` +
        `${samplePopulation.first} + (the first 48 bits of SHA-256("${fileId(file)}:n") modulo ${samplePopulation.size}), a sequence. Those ` +
        `drawn before, those erased and those of deleted agents were passed over, until there were ${SAMPLE_SIZE}, every sequence had ` +
        `been drawn, or ${formatNumber(MAX_DRAWS)} draws were over.`,
  ];
}
