import { z } from 'zod';
import { EVENT_TYPES, type EventType } from '../../db/schema';
import type { Config } from '../../env';
import { signAddress } from '../../files/address';
import { type FileRow, fileId, statusAt } from '../../files/file';
import type { UserPrincipal } from '../../http/context';
import { EXAMPLE, exampleId } from '../../http/examples';
import { later, shownCount, shownId, shownTime } from '../../http/shown';
import { toHex } from '../../lib/bytes';
import { formatTime, formatTimeOrNull } from '../../lib/time';
import type { Id } from '../../lib/typeid';

export const EXPORT_FORMATS = ['csv', 'json', 'parquet'] as const;
export const EXPORT_STATUSES = ['processing', 'completed', 'failed', 'expired'] as const;

export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** What was asked for, as it was written. */
export interface ExportRequest {
  start_date: string;
  end_date: string;
  agent_id: string | null;
  event_types: EventType[] | null;
  include_details: boolean;
  /** The dates as milliseconds since the epoch: from the first on, before the second. */
  from: number;
  to: number;
}

/** An export as the API shows it. */
export const AuditExport = later(() =>
  z
    .object({
      export_id: shownId('export'),
      status: z.enum(EXPORT_STATUSES),
      format: z.enum(EXPORT_FORMATS),
      start_date: z.string().meta({ description: 'As it was written.' }),
      end_date: z.string().meta({ description: 'As it was written.' }),
      agent_id: z.string().nullable(),
      event_types: z.array(z.enum(EVENT_TYPES)).nullable(),
      include_details: z.boolean(),
      download_url: z.string().nullable().meta({
        description: 'Where the file is; needs no credential. Null while there is nothing to download.',
      }),
      expires_at: shownTime.nullable().meta({ description: 'When the download is over.' }),
      row_count: shownCount.optional(),
      file_size_bytes: shownCount.optional(),
      sha256: z.string().nullable().meta({ description: 'Of the file, in lower-case hexadecimal.' }),
      error: z.string().nullable().meta({ description: 'Why the export failed: a code; null where it did not.' }),
      created_at: shownTime,
      completed_at: shownTime.optional(),
    })
    .meta({
      id: 'AuditExport',
      description: 'A file of audit entries, made in the background.',
      examples: [
        {
          export_id: exampleId('export'),
          status: 'processing',
          format: 'csv',
          start_date: '2026-01-01',
          end_date: '2026-01-31',
          agent_id: null,
          event_types: ['approve', 'deny'],
          include_details: false,
          download_url: null,
          expires_at: null,
          sha256: null,
          error: null,
          created_at: EXAMPLE.time,
        },
      ],
    }),
);

export type AuditExport = z.output<ReturnType<typeof AuditExport>>;

/** The row of an export as it is presented. */
export type ExportRow = Pick<
  FileRow,
  | 'kind'
  | 'id'
  | 'format'
  | 'request'
  | 'status'
  | 'error'
  | 'rowCount'
  | 'size'
  | 'sha256'
  | 'createdAt'
  | 'completedAt'
  | 'expiresAt'
>;

/** What was asked of an export. */
export function exportRequest({ request }: Pick<FileRow, 'request'>): ExportRequest {
  return request as unknown as ExportRequest;
}

/** Whose export it is: the account, and the shard that its signed address leads to. */
type FileOwner = Pick<UserPrincipal, 'shard'> & { account: { id: Id<'user'> } };

/** Makes the answer that shows an export at a moment. */
export async function presentExport(
  config: Config,
  { account, shard }: FileOwner,
  row: ExportRow,
  now: number,
): Promise<AuditExport> {
  const { start_date, end_date, agent_id, event_types, include_details } = exportRequest(row);
  const status = statusAt(row, now);
  const id = fileId(row) as Id<'export'>;
  const address = { id, account: account.id, shard, expires: row.expiresAt ?? 0 };
  return {
    export_id: id,
    status,
    format: row.format as ExportFormat,
    start_date,
    end_date,
    agent_id,
    event_types,
    include_details,
    download_url: status === 'completed' ? await signAddress(config, address) : null,
    expires_at: formatTimeOrNull(row.expiresAt),
    ...(row.rowCount !== null && { row_count: row.rowCount }),
    ...(row.size !== null && { file_size_bytes: row.size }),
    sha256: row.sha256 && toHex(row.sha256),
    error: row.error,
    created_at: formatTime(row.createdAt),
    ...(row.completedAt !== null && { completed_at: formatTime(row.completedAt) }),
  };
}
