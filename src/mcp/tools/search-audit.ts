import * as z from 'zod';
import { AuditDetails, AuditEntry, detailsOf } from '../../audit/entry';
import { AuditList, listAuditEntries } from '../../audit/list';
import { requireUser } from '../../http/access';
import { pageParameters } from '../../http/page';
import { objectField, pageOf } from '../../http/response-fields';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { defineTool } from '../tool';

/**
 * An audit entry as the tool shows it: what an agent and what people wrote is apart from what the
 * service recorded.
 */
const ShownEntry = lazy(() => {
  const entry = AuditEntry().shape;
  const { action, resource, scope, decision_reason, votes, ...recorded } = AuditDetails().shape;
  const { reason, scope: votedScope, signature: _, ...vote } = votes.unwrap().element.shape;
  return z.object({
    id: entry.id,
    sequence: entry.sequence,
    event_type: entry.event_type,
    agent_id: entry.agent_id,
    permission_request_id: entry.permission_request_id,
    ip_address: entry.ip_address,
    created_at: entry.created_at,
    ...recorded,
    votes: z.array(z.object(vote)).optional(),
    written_by_agent: z.object({ action, resource, scope: scope.optional() }),
    written_by_people: z.object({
      decision_reason,
      granted_scope: objectField.nullable().optional(),
      votes: z
        .array(z.object({ reason, scope: votedScope }))
        .optional()
        .meta({ description: 'In the order of `votes`.' }),
    }),
  });
});

export const searchAuditTool = defineTool({
  name: 'search_audit',
  title: 'Search the audit log',
  description:
    'Search the audit log of the account: every request, approval, denial, use, expiry and revocation, newest first. All ' +
    'filters have to match, exactly; only a resource may end in * for all that begin so. With resource, decided_by or ' +
    'scope_key an answer may have few entries, or none, and still a next_cursor. Signatures and user agents are left out.',
  annotations: { readOnlyHint: true },
  admit: (principal) => requireUser(principal, 'audit:read'),
  input: () => z.strictObject({ ...AuditList().shape, ...pageParameters(20, 50) }),
  output: () => {
    const { has_more, next_cursor } = pageOf(AuditEntry)().shape;
    return z.object({ entries: z.array(ShownEntry()), has_more, next_cursor });
  },
  async run({ context, input }) {
    const { data, ...page } = await listAuditEntries(context, input);
    return {
      nextStep: page.has_more
        ? 'Call search_audit again with the same filters and next_cursor as cursor for more entries.'
        : 'These are all entries that match.',
      data: { entries: data.map(showEntry), ...page },
    };
  },
});

/**
 * Shows an entry. Its scope is the granted one where a token is concerned, else the requested one.
 */
function showEntry(entry: AuditEntry): LazyOutput<typeof ShownEntry> {
  const { user_id: _, user_agent: __, details: ___, ...recorded } = entry;
  const { action, resource, scope, decision_reason, votes, ...details } = detailsOf(entry);
  const isGranted = details.token_id !== undefined;
  return {
    ...recorded,
    ...details,
    votes: votes?.map(({ reason: _, scope: __, signature: ___, ...vote }) => vote),
    written_by_agent: { action, resource, ...(!isGranted && { scope }) },
    written_by_people: {
      decision_reason,
      ...(isGranted && { granted_scope: scope }),
      votes: votes?.map(({ reason, scope }) => ({ reason, scope })),
    },
  };
}
