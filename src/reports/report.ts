import * as z from 'zod';
import type { Config } from '../env';
import { publicFileId } from '../files/file';
import type { FileRow } from '../files/file-records';
import {
  digestField,
  type FileHome,
  fileFields,
  type PresentedFile,
  presentFile,
} from '../files/presentation';
import { EXAMPLE, exampleId } from '../http/examples';
import { idField } from '../http/response-fields';
import { type LazyOutput, lazy } from '../lib/lazy';
import type { Id } from '../lib/typeid';

export const REPORT_TYPES = [
  'soc2_type1',
  'soc2_type2',
  'iso27001',
  'hipaa',
  'gdpr',
  'eu_ai_act',
] as const;

/** The framework that a report is about. SOC 2 has two types of reports. */
export type ReportType = (typeof REPORT_TYPES)[number];

export const REPORT_FORMATS = ['pdf', 'json'] as const;

/** The parameters of a report, as they are stored with the file. */
export type ReportRequest = {
  report_type: ReportType;
  /** The first and the last day (`YYYY-MM-DD`, in UTC); both belong to the period. */
  period: { start: string; end: string };
  /** The period in milliseconds since the epoch: `from` inclusive, `to` exclusive. */
  from: number;
  to: number;
};

const dayField = lazy(() => z.string().meta({ format: 'date' }));

/** A compliance report as the API shows it. Its content is in the file behind `download_url`. */
export const ComplianceReport = lazy(() =>
  z
    .object({
      report_id: idField('report'),
      report_type: z.enum(REPORT_TYPES),
      period: z
        .object({ start: dayField(), end: dayField() })
        .meta({ description: 'Both days belong to the period.' }),
      format: z.enum(REPORT_FORMATS),
      sha256: digestField().optional(),
      ...fileFields(),
    })
    .meta({
      id: 'ComplianceReport',
      description:
        'A file of evidence from the audit log for the controls of a framework, made in the background.',
      examples: [
        {
          report_id: exampleId('report'),
          report_type: 'soc2_type2',
          period: { start: '2026-01-01', end: '2026-01-31' },
          format: 'pdf',
          status: 'processing',
          download_url: null,
          expires_at: null,
          error: null,
          created_at: EXAMPLE.time,
        },
      ],
    }),
);

export type ComplianceReport = LazyOutput<typeof ComplianceReport>;

/** Returns what a report was requested for. */
export function reportRequest({ request }: Pick<FileRow, 'request'>): ReportRequest {
  return request as ReportRequest;
}

/**
 * The time, in milliseconds and exclusive, up to which a report covers the account: the end of the
 * period, or the end of the millisecond in which the report was requested if that is earlier.
 */
export function coverageEnd(file: Pick<FileRow, 'request' | 'createdAt'>): number {
  return Math.min(reportRequest(file).to, file.createdAt + 1);
}

/**
 * Makes the form in which the API shows a report at the time `now`; a completed one has a download
 * link.
 */
export async function presentReport(
  config: Config,
  home: FileHome,
  row: PresentedFile,
  now: number,
): Promise<ComplianceReport> {
  const { report_type, period } = reportRequest(row);
  const { fields, sha256 } = await presentFile(config, home, row, now);
  return {
    report_id: publicFileId(row) as Id<'report'>,
    report_type,
    period,
    format: row.format as ComplianceReport['format'],
    ...(sha256 !== null && { sha256 }),
    ...fields,
  };
}
