import type { ListAuditEntriesQuery } from '../../api.ts';
import { present } from '../../present.ts';
import type { Options, Values } from '../options.ts';
import { readDecimal, readGiven } from '../values.ts';

/** The filters on the details of entries. */
export const DETAIL_FILTERS = {
  resource: {
    type: 'string',
    description: 'Only entries of this resource; with * at the end, of those that begin so',
    valueHint: 'mailbox:*',
  },
  by: {
    type: 'string',
    description: 'Only entries that this member, policy or account decided or voted on',
    valueHint: 'member_…',
  },
  'scope-key': {
    type: 'string',
    description: 'Only entries with a number of this name in their scope; needs a bound',
    valueHint: 'amount',
  },
  min: { type: 'string', description: 'The least value of --scope-key', valueHint: 'number' },
  max: { type: 'string', description: 'The greatest value of --scope-key', valueHint: 'number' },
} as const satisfies Options;

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
  ...DETAIL_FILTERS,
} as const satisfies Options;

/** The options of the filters, and of the time, by the fields that they set. */
export const FILTER_FIELDS = {
  'query.agent_id': '--agent',
  'query.permission_id': '--permission',
  'query.event_type': '--event',
  'query.action': '--action',
  'query.resource': '--resource',
  'query.decided_by': '--by',
  'query.scope_key': '--scope-key',
  'query.scope_min': '--min',
  'query.scope_max': '--max',
  'query.start_date': '--from',
  'query.end_date': '--to',
};

/** Returns the query of the filters. */
export function readFilters({
  agent,
  permission,
  event,
  action,
  ...details
}: Values<typeof FILTERS>): ListAuditEntriesQuery {
  return {
    ...present({ agent_id: agent, permission_id: permission, event_type: event, action }),
    ...readDetailFilters(details),
  };
}

/** Returns the fields of the filters on details. */
export function readDetailFilters({
  resource,
  by,
  'scope-key': key,
  min,
  max,
}: Values<typeof DETAIL_FILTERS>) {
  return present({
    resource,
    decided_by: by,
    scope_key: key,
    scope_min: readGiven(readDecimal, min, 'min'),
    scope_max: readGiven(readDecimal, max, 'max'),
  });
}
