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
    const { id, sequence, agentId, permission, event } = entry;
    const action = JSON.stringify(entry.action);
    const resource = JSON.stringify(entry.resource);
    const address = JSON.stringify(entry.ipAddress);
    const userAgent = JSON.stringify(entry.userAgent);
    const members =
      `"id":"${id}","sequence":${sequence},"user_id":"${account}","agent_id":"${agentId}",` +
      `"permission_request_id":"${permission}","event_type":"${event}","action":${action},` +
      `"resource":${resource},"ip_address":${address},"user_agent":${userAgent},` +
      `"created_at":"${formatTime(entry.createdAt)}"`;
    if (!withDetails) return `{${members}}`;
    // The details are stored as JSON.
    return `{${members},"details":${entry.details}}`;
  };
  return { head: '[\n', between: ',\n', tail: (rows) => (rows > 0 ? '\n]\n' : ']\n'), write };
}
