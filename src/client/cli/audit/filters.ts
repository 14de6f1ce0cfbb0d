import type { ListAuditEntriesQuery } from '../../api.ts';
import { present } from '../arguments.ts';
import { defineArgs } from '../command.ts';

/** The filters of the audit log. */
export const FILTERS = defineArgs({
  agent: { type: 'string', description: 'Only entries of this agent', valueHint: 'agent_…' },
  permission: { type: 'string', description: 'Only entries of this request', valueHint: 'perm_…' },
  event: {
    type: 'enum',
    description: 'Only entries of this type',
    options: ['request', 'approve', 'deny', 'use', 'expire', 'revoke'],
  },
  action: { type: 'string', description: 'Only entries of this action', valueHint: 'email.send' },
});

/** The options of the filters, and of the time, by the fields that they set. */
export const FILTER_FIELDS = {
  'query.agent_id': '--agent',
  'query.permission_id': '--permission',
  'query.event_type': '--event',
  'query.start_date': '--from',
  'query.end_date': '--to',
};

/** The values of the filters. */
export interface FilterValues {
  agent?: string | undefined;
  permission?: string | undefined;
  event?: NonNullable<ListAuditEntriesQuery['event_type']> | undefined;
  action?: string | undefined;
}

/** Returns the query of the filters. */
export function readFilters({ agent, permission, event, action }: FilterValues): ListAuditEntriesQuery {
  return present({ agent_id: agent, permission_id: permission, event_type: event, action });
}
