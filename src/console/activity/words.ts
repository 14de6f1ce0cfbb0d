import type { ActivityAction } from '../../db/schema';

/** What an action did, and the kind of thing to which, if the sentence names it. */
export const ACTIONS: Record<ActivityAction, readonly [did: string, kind?: string]> = {
  'agent.created': ['registered', 'agent'],
  'agent.updated': ['changed', 'agent'],
  'agent.deleted': ['deleted', 'agent'],
  'agent.key_rotated': ['rotated the key of', 'agent'],
  'policy.created': ['made', 'policy'],
  'policy.updated': ['changed', 'policy'],
  'policy.deleted': ['deleted', 'policy'],
  'webhook.created': ['made', 'webhook'],
  'webhook.updated': ['changed', 'webhook'],
  'webhook.deleted': ['deleted', 'webhook'],
  'webhook.secret_rotated': ['rotated the secret of', 'webhook'],
  'user_token.created': ['made', 'user token'],
  'user_token.deleted': ['deleted', 'user token'],
  'export.requested': ['ordered', 'export'],
  'export.downloaded': ['downloaded', 'export'],
  'report.requested': ['ordered', 'report'],
  'report.downloaded': ['downloaded', 'report'],
  'account.updated': ['changed the account'],
  'member.invited': ['invited', 'member'],
  'member.joined': ['joined the account'],
  'member.updated': ['changed', 'member'],
  'member.removed': ['removed', 'member'],
  'session.created': ['signed in'],
  'session.ended': ['ended a session'],
  'passkey.added': ['added a passkey'],
  'passkey.removed': ['removed a passkey'],
  'permission.voted': ['gave one of the approvals for', 'request'],
  'permission.escalated': ['asked further reviewers about', 'request'],
};

/** An action without its target, to choose from: `invited a member`. */
export function actionLabel(action: ActivityAction): string {
  const [did, kind] = ACTIONS[action];
  return kind === undefined ? did : `${did} ${withArticle(kind)}`;
}

export function withArticle(kind: string): string {
  return `${/^[ae]/.test(kind) ? 'an' : 'a'} ${kind}`;
}
