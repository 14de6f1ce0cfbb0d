import type { Permission } from '../../../src/permissions/permission';
import type { PermissionMessage } from '../../../src/receivers/channels/message';

/**
 * Texts with which an agent may try to notify people, to write links and markup, or to mislead the
 * eye.
 */
export const HOSTILE_TEXTS = [
  '<!channel> <!here> <!everyone>',
  '<@U0ADA> <#C0APPROVALS> <!subteam^S0TEAM>',
  '@channel @here #general',
  '<https://evil.example|Approve> https://evil.example',
  '[Approve](https://evil.example)',
  '*bold* _italic_ ~gone~ `code` ```block``` > quote',
  ':white_check_mark: :skull:',
  'AT&T &amp; &lt;!channel&gt;',
  '<!date^1392734382^{date}^https://evil.example|now>',
];

/**
 * Texts with characters that are not seen, or that turn the text around them, and how they are
 * shown.
 */
export const UNSEEN_TEXTS: [string, string][] = [
  ['invoice\u202egnp.exe', 'invoiceU+202Egnp.exe'],
  ['mailbox\u200b:support', 'mailboxU+200B:support'],
  ['a\nAgent: b', 'aU+000AAgent: b'],
  ['a\u2028b', 'aU+2028b'],
  ['\u2067a\u2069', 'U+2067aU+2069'],
];

export const CARD = 'https://countersign.test/console/permissions/perm_01m7x1m1tre75vaz5yvpbmvt6m';

/** A pending permission as a user sees it. */
export function permissionWith(fields: Partial<Permission> = {}): Permission {
  return {
    id: 'perm_01m7x1m1tre75vaz5yvpbmvt6m',
    agent_id: 'agent_01m7x1m1tre75vaz5yvpbmvt6m',
    action: 'email.send',
    resource: 'mailbox:support',
    scope: { max_recipients: 50 },
    granted_scope: null,
    reason: null,
    status: 'pending',
    decided_by: null,
    decided_at: null,
    decision_reason: null,
    policy_id: null,
    token: null,
    expires_at: '2026-01-31T13:00:00.000Z',
    created_at: '2026-01-31T12:00:00.000Z',
    updated_at: '2026-01-31T12:00:00.000Z',
    title: 'Reply to ticket 4711',
    input_digest: null,
    preview_digest: null,
    external_id: null,
    connection_id: null,
    review: null,
    series: null,
    granted_series: null,
    outcome: null,
    ...fields,
  };
}

export function messageWith(
  permission: Partial<Permission> = {},
  fields: Partial<PermissionMessage> = {},
): PermissionMessage {
  return {
    event: 'permission.requested',
    isReminder: false,
    permission: permissionWith(permission),
    agentName: 'Mailer',
    decidedBy: null,
    url: CARD,
    ...fields,
  };
}
