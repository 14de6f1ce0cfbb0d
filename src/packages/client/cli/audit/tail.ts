import type { AuditEntry } from '../../api.ts';
import { isOutage } from '../../errors.ts';
import type { CliClient } from '../client.ts';
import { command } from '../command.ts';
import { explain } from '../failures.ts';
import { write } from '../io.ts';
import { note } from '../print.ts';
import type { Session } from '../session.ts';
import { escapeText, printableJson } from '../terminal/escape.ts';
import { withScriptsMark } from '../terminal/scripts.ts';
import { colourStatus } from '../terminal/style.ts';
import { formatTime } from '../terminal/time.ts';
import { readDuration, readNumber } from '../values.ts';
import { FILTER_FIELDS, FILTERS, readDetailFilters, readFilters } from './filters.ts';

/** The largest page of the audit log. */
const PAGE = 1000;

export const tailEntries = command({
  name: 'audit tail',
  description:
    'Prints the entries of the audit log as they are written, oldest first, until it is stopped with Ctrl-C.',
  args: {
    ...FILTERS,
    after: {
      type: 'string',
      description: 'Begin after this entry; by default with the next one',
      valueHint: 'number',
    },
    interval: {
      type: 'string',
      default: '2s',
      description: 'How often to look for new entries',
      valueHint: '2s',
    },
  },
  notes: ['Keep the `sequence` of the last entry and give it to --after to go on without a gap.'],
  fields: FILTER_FIELDS,
  examples: [
    'countersign audit tail',
    'countersign audit tail --after 4711 --json | tee -a audit.ndjson',
  ],
  async run({ args, session }) {
    const { client, io } = session;
    const interval = Math.max(1, readDuration(args.interval, 'interval')) * 1000;
    const filters = readFilters(args);
    // The service has to examine each entry for these filters: none is asked for twice.
    const isExamined = Object.keys(readDetailFilters(args)).length > 0;
    let last = await findStart(client, args.after);
    let hasFailed = false;
    for (;;) {
      try {
        const newest = isExamined ? await findStart(client, undefined) : last;
        const query = { ...filters, order: 'asc' as const, limit: PAGE, after_sequence: last };
        for await (const entry of client.listAuditEntries(query)) {
          const line = session.isHuman ? formatEntry(entry, session) : printableJson(entry);
          await write(io.stdout, `${line}\n`);
          last = entry.sequence;
        }
        last = Math.max(last, newest);
        hasFailed = false;
      } catch (error) {
        if (!isOutage(error)) throw error;
        if (!hasFailed) await note(session, `${explain(error).lines[0]} Trying again …`);
        hasFailed = true;
      }
      await client.clock.sleep(interval);
    }
  },
});

/**
 * Returns the number after which the entries begin: the newest, unless the option names another.
 */
async function findStart(client: CliClient, after: string | undefined): Promise<number> {
  if (after !== undefined) return readNumber(after, 'after', 0);
  const { data } = await client.listAuditEntries({ limit: 1 });
  return data[0]?.sequence ?? 0;
}

function formatEntry(
  { sequence, created_at, event_type, details }: AuditEntry,
  { style }: Session,
): string {
  const { action, resource, decision_reason: reason } = details;
  let what = `${action} ${resource}`;
  if (reason) what += ` (${reason})`;
  const place = style.dim(`${sequence} ${formatTime(created_at)}`);
  return `${place} ${colourStatus(event_type, style)} ${withScriptsMark(escapeText(what))}`;
}
