import type { AuditEntry, AuditExport } from '../../api.ts';
import { present } from '../../present.ts';
import { command } from '../command.ts';
import { Failure, UsageError } from '../failures.ts';
import { note, printRecord } from '../print.ts';
import type { Session } from '../session.ts';
import { downloadFile } from './download.ts';
import { DETAIL_FILTERS, readDetailFilters } from './filters.ts';
import { Progress } from './progress.ts';

type EventType = AuditEntry['event_type'];

/** Pause between two looks at an export that is made, in milliseconds. */
const PAUSE = 1_000;

export const exportEntries = command({
  name: 'audit export',
  description: 'Exports the audit log of some days, and downloads it.',
  args: {
    from: {
      type: 'string',
      description: 'The first day or time (UTC)',
      valueHint: '2026-01-01',
      isRequired: true,
    },
    to: {
      type: 'string',
      description: 'The last day, or the time before which it ends (UTC)',
      valueHint: '2026-01-31',
      isRequired: true,
    },
    format: {
      type: 'string',
      choices: ['json', 'csv', 'parquet'],
      default: 'json',
      description: 'The format of the file',
    },
    agent: { type: 'string', description: 'Only entries of this agent', valueHint: 'agent_…' },
    event: {
      type: 'string',
      description: 'Only entries of this type',
      valueHint: 'approve',
      isRepeated: true,
    },
    action: { type: 'string', description: 'Only entries of this action', valueHint: 'email.send' },
    ...DETAIL_FILTERS,
    details: { type: 'boolean', description: 'With the details of each entry' },
    bom: { type: 'boolean', description: 'Begin a CSV file with a byte order mark, for Excel' },
    output: {
      type: 'string',
      short: 'o',
      description: 'The file; - is stdout, which is the default in a pipe',
      valueHint: 'file',
    },
    proof: {
      type: 'string',
      description: 'Also download the proof, for `npm run verify`; needs --details',
      valueHint: 'file',
    },
  },
  fields: {
    'body.start_date': '--from',
    'body.end_date': '--to',
    'body.agent_id': '--agent',
    'body.event_types': '--event',
    'body.action': '--action',
    'body.resource': '--resource',
    'body.decided_by': '--by',
    'body.scope_key': '--scope-key',
    'body.scope_min': '--min',
    'body.scope_max': '--max',
  },
  notes: ['The checksum of the downloaded file is compared with that of the service.'],
  examples: [
    'countersign audit export --from 2026-01-01 --to 2026-01-31 --format csv -o january.csv',
    'countersign audit export --from 2026-01-01 --to 2026-01-31 --details -o january.json --proof january-proof.json',
    'countersign audit export --from 2026-01-01 --to 2026-01-31 | jq length',
  ],
  async run({ args, session }) {
    const { io } = session;
    const { format, proof } = args;
    if (proof !== undefined && (!args.details || format === 'csv')) {
      throw new UsageError('--proof needs --details, and the format json or parquet.');
    }
    if (args.bom && format !== 'csv') throw new UsageError('--bom needs the format csv.');
    let output = args.output ?? '-';
    if (args.output === undefined && io.stdout.isTTY)
      output = `audit-${fileName(args.from)}-${fileName(args.to)}.${format}`;
    // What agents wrote would act on the terminal.
    if (output === '-' && io.stdout.isTTY)
      throw new UsageError('Name a file with --output: stdout is a terminal.');
    const asked = await session.client.createAuditExport({
      format,
      start_date: args.from,
      end_date: args.to,
      include_details: args.details,
      // A service of an earlier version does not know the field.
      ...(args.bom && { bom: true }),
      ...present({
        agent_id: args.agent,
        event_types: args.event.length > 0 ? (args.event as EventType[]) : undefined,
        action: args.action,
      }),
      ...readDetailFilters(args),
    });
    const made = await waitForExport(session, asked);
    const { download_url, sha256, file_size_bytes: size, row_count: rows } = made;
    if (!download_url) throw new Failure(`The export ${made.export_id} has no file.`);
    await downloadFile(session, download_url, { output, sha256, size });
    if (proof !== undefined) {
      if (!made.proof_url)
        throw new Failure(withReason('The export has no proof', made.proof_error));
      await downloadFile(session, made.proof_url, { output: proof, sha256: null, size: undefined });
    }
    // Whoever has the signed addresses can download the file: they are no output.
    const { download_url: _, proof_url: __, ...shown } = { proof_url: null, ...made, file: output };
    if (output !== '-' && !session.isHuman) await printRecord(session, shown, () => []);
    else await note(session, `${rows ?? 0} entries${output === '-' ? '' : ` in ${output}`}.`);
  },
});

/** Waits until the file of an export is made, and shows for how long. */
async function waitForExport(session: Session, asked: AuditExport): Promise<AuditExport> {
  const { client } = session;
  const begun = client.clock.now();
  const progress = new Progress(session.io);
  let current = asked;
  try {
    while (current.status === 'processing') {
      await client.clock.sleep(PAUSE);
      progress.show(`Exporting … ${Math.round((client.clock.now() - begun) / 1000)} s`);
      current = await client.getAuditExport(current.export_id);
    }
  } finally {
    progress.end();
  }
  if (current.status === 'completed') return current;
  const { export_id, status, error } = current;
  throw new Failure(withReason(`The export ${export_id} is ${status}`, error));
}

function withReason(sentence: string, reason: string | null | undefined): string {
  if (!reason) return `${sentence}.`;
  return `${sentence}: ${reason}.`;
}

/** A day or time as a part of a file name. */
function fileName(date: string): string {
  return date.replaceAll(/[^0-9A-Za-z-]/g, '');
}
