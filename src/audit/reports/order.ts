import * as z from 'zod';
import type { Config } from '../../env';
import { fileId } from '../../files/file';
import type { FileRow } from '../../files/file-records';
import { digestField, type FileOwner, fileFields, type PresentedFile, presentFile } from '../../files/presentation';
import { EXAMPLE, exampleId } from '../../http/examples';
import { idField } from '../../http/response-fields';
import { lazy } from '../../lib/lazy';
import type { Id } from '../../lib/typeid';
import { REPORT_TYPES, type ReportType } from './report-type';

export const REPORT_FORMATS = ['pdf', 'json'] as const;

type ReportFormat = (typeof REPORT_FORMATS)[number];

/** What was asked of a report, as it was written. */
export interface ReportRequest {
  report_type: ReportType;
  /** Days, both of which count. */
  period: { start: string; end: string };
  /** The period as milliseconds since the epoch: from the first on, before the second. */
  from: number;
  to: number;
}

const shownDay = lazy(() => z.string().meta({ format: 'date' }));

/** A compliance report as the API shows it; what is in it is in its file. */
export const ComplianceReport = lazy(() =>
  z
    .object({
      report_id: idField('report'),
      report_type: z.enum(REPORT_TYPES),
      period: z.object({ start: shownDay(), end: shownDay() }).meta({ description: 'Both days count.' }),
      format: z.enum(REPORT_FORMATS),
      sha256: digestField().optional(),
      ...fileFields(),
    })
    .meta({
      id: 'ComplianceReport',
      description: 'A file of evidence from the audit log, by the controls of a framework, made in the background.',
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

export type ComplianceReport = z.output<ReturnType<typeof ComplianceReport>>;

/** What was asked of a report. */
export function reportRequest({ request }: Pick<FileRow, 'request'>): ReportRequest {
  return request as unknown as ReportRequest;
}

/** The time before which things belong to a report: those of the very millisecond of its order still do. */
export function endOf(file: Pick<FileRow, 'request' | 'createdAt'>): number {
  return Math.min(reportRequest(file).to, file.createdAt + 1);
}

/** Makes the answer that shows a report at a moment. */
export async function presentReport(
  config: Config,
  owner: FileOwner,
  row: PresentedFile,
  now: number,
): Promise<ComplianceReport> {
  const { report_type, period } = reportRequest(row);
  const { fields, sha256 } = await presentFile(config, owner, row, now);
  return {
    report_id: fileId(row) as Id<'report'>,
    report_type,
    period,
    format: row.format as ReportFormat,
    ...(sha256 !== null && { sha256 }),
    ...fields,
  };
}
