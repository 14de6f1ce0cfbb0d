import type { ListAuditEntriesQuery } from '../../api.ts';
import { present } from '../../present.ts';
import type { Options, Values } from '../options.ts';

/** The filters of the audit log. */
export const FILTERS = {
  agent: { type: 'string', description: 'Only entries of this agent', valueHint: 'agent_…' },
  permission: { type: 'string', description: 'Only entries of this request', valueHint: 'perm_…' },
  event: {
    type: 'string',
    description: 'Only entries of this type',
    choices: ['request', 'approve', 'deny', 'use', 'expire', 'revoke'],
  },
  action: { type: 'string', description: 'Only entries of this action', valueHint: 'email.send' },
} as const satisfies Options;

/** The options of the filters, and of the time, by the fields that they set. */
export const FILTER_FIELDS = {
  'query.agent_id': '--agent',
  'query.permission_id': '--permission',
  'query.event_type': '--event',
  'query.start_date': '--from',
  'query.end_date': '--to',
};

/** Returns the query of the filters. */
export function readFilters({
  agent,
  permission,
  event,
  action,
}: Values<typeof FILTERS>): ListAuditEntriesQuery {
  return present({ agent_id: agent, permission_id: permission, event_type: event, action });
}
