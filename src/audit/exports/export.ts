import * as z from 'zod';
import { EVENT_TYPES, type EventType } from '../../db/schema';
import type { Config } from '../../env';
import { publicFileId } from '../../files/file';
import type { FileRow } from '../../files/file-records';
import {
  digestField,
  type FileHome,
  fileFields,
  type PresentedFile,
  presentFile,
} from '../../files/presentation';
import { EXAMPLE, exampleId } from '../../http/examples';
import { countField, idField } from '../../http/response-fields';
import { type LazyOutput, lazy } from '../../lib/lazy';
import type { Id } from '../../lib/typeid';

export const EXPORT_FORMATS = ['csv', 'json', 'parquet'] as const;

export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/**
 * The request of an export: its parameters as the client sent them, and the range that its dates
 * mean.
 */
export type ExportRequest = {
  start_date: string;
  end_date: string;
  agent_id: string | null;
  event_types: EventType[] | null;
  action: string | null;
  resource: string | null;
  decided_by: string | null;
  scope_key: string | null;
  scope_min: number | null;
  scope_max: number | null;
  include_details: boolean;
  /** Whether the file begins with a byte order mark. */
  bom: boolean;
  /** The start of the range in milliseconds since the epoch, inclusive. */
  from: number;
  /** The end of the range, exclusive. */
  to: number;
};

/** An export as the API shows it. */
export const AuditExport = lazy(() =>
  z
    .object({
      export_id: idField('export'),
      format: z.enum(EXPORT_FORMATS),
      start_date: z.string().meta({ description: 'As it was written.' }),
      end_date: z.string().meta({
        description: 'As it was written, or the end of the day of the request if that was earlier.',
      }),
      agent_id: z.string().nullable(),
      event_types: z.array(z.enum(EVENT_TYPES)).nullable(),
      action: z.string().nullable(),
      resource: z.string().nullable(),
      decided_by: z.string().nullable(),
      scope_key: z.string().nullable(),
      scope_min: z.number().nullable(),
      scope_max: z.number().nullable(),
      include_details: z.boolean(),
      bom: z.boolean(),
      row_count: countField.optional(),
      sha256: digestField().nullable(),
      ...fileFields(),
      proof_url: z
        .string()
        .nullable()
        .optional()
        .meta({
          description:
            'URL of the proof that the entries are in the log under a signed head. Needs no credential. Null while there is ' +
            'nothing to download, or if the export has no proof. Only for exports with details in JSON or Parquet.',
        }),
      proof_error: z
        .enum(['log_refused'])
        .nullable()
        .optional()
        .meta({
          description:
            'Why a completed export has no proof: `log_refused` if the log in the database is inconsistent with its ' +
            'signed heads. Null otherwise. Present if `proof_url` is.',
        }),
    })
    .meta({
      id: 'AuditExport',
      description:
        'A file of audit entries, made in the background. The API shows the export for 90 days.',
      examples: [
        {
          export_id: exampleId('export'),
          status: 'processing',
          format: 'csv',
          start_date: '2026-01-01',
          end_date: '2026-01-31',
          agent_id: null,
          event_types: ['approve', 'deny'],
          action: null,
          resource: null,
          decided_by: null,
          scope_key: null,
          scope_min: null,
          scope_max: null,
          include_details: false,
          bom: false,
          download_url: null,
          expires_at: null,
          sha256: null,
          error: null,
          created_at: EXAMPLE.time,
        },
      ],
    }),
);

export type AuditExport = LazyOutput<typeof AuditExport>;

/** The filters of an export that was made before there were such filters. */
const NOT_ASKED = {
  action: null,
  resource: null,
  decided_by: null,
  scope_key: null,
  scope_min: null,
  scope_max: null,
  bom: false,
};

/** The request of an export. */
export function exportRequest({ request }: Pick<FileRow, 'request'>): ExportRequest {
  return { ...NOT_ASKED, ...(request as ExportRequest) };
}

type ExportFilters = Omit<ExportRequest, 'start_date' | 'end_date' | 'from' | 'to'>;

/** The filters of an export's request, without its dates. */
export function exportFilters(request: ExportFilters) {
  const { agent_id, event_types, action, resource, decided_by } = request;
  const { scope_key, scope_min, scope_max } = request;
  const ofScope = { scope_key, scope_min, scope_max };
  return { agent_id, event_types, action, resource, decided_by, ...ofScope };
}

/**
 * Whether an export gets a proof. Only files with complete entries (not CSV, not without details)
 * can be proven.
 */
export function getsProof(file: Pick<FileRow, 'format' | 'request'>): boolean {
  return file.format !== 'csv' && exportRequest(file).include_details;
}

/** Whether an export was completed without the proof that it should have. */
function isUnproven({ completedAt, proofSize }: PresentedFile): boolean {
  return completedAt !== null && proofSize === null;
}

/** Makes the response that shows an export as it is at the time `now`. */
export async function presentExport(
  config: Config,
  home: FileHome,
  row: PresentedFile,
  now: number,
): Promise<AuditExport> {
  const { from: _, to: __, ...request } = exportRequest(row);
  const { fields, proofUrl, sha256 } = await presentFile(config, home, row, now);
  return {
    export_id: publicFileId(row) as Id<'export'>,
    format: row.format as ExportFormat,
    ...request,
    ...(row.rowCount !== null && { row_count: row.rowCount }),
    sha256,
    ...fields,
    ...(getsProof(row) && {
      proof_url: proofUrl,
      proof_error: isUnproven(row) ? 'log_refused' : null,
    }),
  };
}
