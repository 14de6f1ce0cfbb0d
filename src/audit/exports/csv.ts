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
    const { id, sequence, agentId, permission, event, createdAt } = entry;
    const texts = `${cell(entry.action)},${cell(entry.resource)},${cell(entry.ipAddress)},${cell(entry.userAgent)}`;
    // A JSON object always has quotes, and never looks like a formula.
    const details = withDetails ? `,${quote(entry.details)}` : '';
    return `${id},${sequence},${account},${agentId},${permission},${event},${texts},${formatTime(createdAt)}${details}\r\n`;
  };
  const header = `${COLUMNS}${withDetails ? ',details' : ''}\r\n`;
  return { head: bom ? `\ufeff${header}` : header, between: '', tail: () => '', write };
}

function cell(text: string): string {
  const isPlain = !/[",\r\n]|^[=+\-@\t]/.test(text);
  if (isPlain) return text;
  const safe = /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? quote(safe) : safe;
}

function quote(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
