import { formatTime } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import type { ExportedEntry } from './source';
import type { TextFormat } from './text';

/**
 * JSON: an array with one entry per line. Identifiers, event types and times have no characters
 * that need escaping.
 */
export function jsonFormat(account: Id<'user'>, withDetails: boolean): TextFormat {
  const write = (entry: ExportedEntry) => {
    const { id, sequence, agentId, permission, event, createdAt } = entry;
    // The details are stored as JSON.
    const details = withDetails ? `,"details":${entry.details}` : '';
    return (
      `{"id":"${id}","sequence":${sequence},"user_id":"${account}","agent_id":"${agentId}",` +
      `"permission_request_id":"${permission}","event_type":"${event}","action":${JSON.stringify(entry.action)},` +
      `"resource":${JSON.stringify(entry.resource)},"ip_address":${JSON.stringify(entry.ipAddress)},` +
      `"user_agent":${JSON.stringify(entry.userAgent)},"created_at":"${formatTime(createdAt)}"${details}}`
    );
  };
  return { head: '[\n', between: ',\n', tail: (rows) => (rows > 0 ? '\n]\n' : ']\n'), write };
}
