import { formatTime } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import type { ExportedEntry } from './source';
import type { TextFormat } from './text';

const COLUMNS =
  'id,sequence,user_id,agent_id,permission_request_id,event_type,action,resource,ip_address,user_agent,created_at';

/**
 * CSV as in RFC 4180, with a header. A value that a spreadsheet would read as a formula gets a
 * leading `'`. A byte order mark tells Excel that it is UTF-8.
 */
export function csvFormat(
  account: Id<'user'>,
  { withDetails, bom }: { withDetails: boolean; bom: boolean },
): TextFormat {
  const write = (entry: ExportedEntry) => {
    const { id, sequence, agentId, permission, event } = entry;
    const ids = `${id},${sequence},${account},${agentId},${permission},${event}`;
    const act = `${cell(entry.action)},${cell(entry.resource)}`;
    const client = `${cell(entry.ipAddress)},${cell(entry.userAgent)}`;
    const line = `${ids},${act},${client},${formatTime(entry.createdAt)}`;
    if (!withDetails) return `${line}\r\n`;
    // A JSON object always has quotes, and never looks like a formula.
    return `${line},${quote(entry.details)}\r\n`;
  };
  let head = `${COLUMNS}\r\n`;
  if (withDetails) head = `${COLUMNS},details\r\n`;
  if (bom) head = `\ufeff${head}`;
  return { head, between: '', tail: () => '', write };
}

function cell(text: string): string {
  const isPlain = !/[",\r\n]|^[=+\-@\t]/.test(text);
  if (isPlain) return text;
  let safe = text;
  if (/^[=+\-@\t\r\n]/.test(text)) safe = `'${text}`;
  if (/[",\r\n]/.test(safe)) return quote(safe);
  return safe;
}

function quote(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
