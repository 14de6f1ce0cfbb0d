import type { Activity } from '../../audit/list-activity';
import type { Scope } from '../../http/context';
import { usePage } from '../frame/page-context';
import { Device, Named, Time, Written } from '../parts/inline';

/** The actions of people on the account, one sentence for each. */
export function ActivityList({ records }: { records: readonly Activity[] }) {
  return (
    <ul class="activity">
      {records.map((record) => {
        const { action, target, changes, ip_address, user_agent, created_at } = record;
        const [did, kind] = ACTIONS[action];
        return (
          <li>
            <div class="what">
              <strong>
                <Actor record={record} />
              </strong>{' '}
              {did} {kind !== undefined && <Target id={target} kind={kind} />}
              {changes.length > 0 && (
                <p class="soft">
                  {action === 'permission.voted' ? 'Narrowed: ' : 'Changed: '}
                  <Written text={changes.map((name) => name.replaceAll('_', ' ')).join(', ')} />
                </p>
              )}
            </div>
            <p class="soft">
              <Time at={created_at} />
              {ip_address !== '' && [' · ', <Written text={ip_address} />]}
              {user_agent !== '' && [' · ', <Device userAgent={user_agent} />]}
            </p>
          </li>
        );
      })}
    </ul>
  );
}

/**
 * Who did it. A download by a signed address has no actor, nor has what the service does by itself.
 */
function Actor({ record: { actor, action } }: { record: Activity }) {
  if (actor === null && action.endsWith('.downloaded')) return 'Somebody with the link';
  if (actor === null) return 'Countersign';
  if (actor === 'operator') return 'The operator';
  if (actor.startsWith('utok_')) return <span title={actor}>A token of the account</span>;
  return <Named id={actor} />;
}

/** Where the pages of things are, by the prefix of their ids, and who may see them. */
const PAGES: Record<string, readonly [path: string, scope: Scope]> = {
  agent: ['/console/agents', 'agents:read'],
  policy: ['/console/policies', 'policies:read'],
  webhook: ['/console/webhooks', 'webhooks:read'],
  chan: ['/console/channels', 'channels:read'],
  conn: ['/console/connections', 'connections:read'],
  member: ['/console/members', 'account:read'],
  perm: ['/console/permissions', 'permissions:read'],
};

/** Kinds whose names are loaded, so that one without a name is deleted. */
const NAMED = ['agent', 'policy', 'member', 'webhook', 'chan', 'conn'];

/**
 * Names the target: `the agent Mailer`, or `a webhook` for kinds without names. Links to its page
 * if it has one.
 */
function Target({ id, kind }: { id: string; kind: string }) {
  const { names, may } = usePage();
  const [prefix = ''] = id.split('_', 1);
  const [path, scope] = PAGES[prefix] ?? [];
  const isNamed = NAMED.includes(prefix);
  const hasPage = scope !== undefined && may(scope) && (!isNamed || names.has(id));
  const name = isNamed ? <Named id={id} /> : <span title={id}>{withArticle(kind)}</span>;
  return (
    <>
      {isNamed && `the ${kind} `}
      {hasPage && <a href={`${path}/${encodeURIComponent(id)}`}>{name}</a>}
      {!hasPage && name}
    </>
  );
}

/** Each action in words, with the kind of thing that it was done to, if the sentence names it. */
export const ACTIONS: Record<Activity['action'], readonly [did: string, kind?: string]> = {
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
  'channel.created': ['made', 'channel'],
  'channel.updated': ['changed', 'channel'],
  'channel.deleted': ['deleted', 'channel'],
  'connection.created': ['made', 'connection'],
  'connection.updated': ['changed', 'connection'],
  'connection.deleted': ['deleted', 'connection'],
  'slack_user.linked': ['linked a Slack user by', 'channel'],
  'slack_user.unlinked': ['unlinked a Slack user from', 'channel'],
  'notifications.updated': ['changed their own notifications'],
  'user_token.created': ['made', 'user token'],
  'user_token.deleted': ['deleted', 'user token'],
  'export.requested': ['ordered', 'export'],
  'export.downloaded': ['downloaded', 'export'],
  'report.requested': ['ordered', 'report'],
  'report.downloaded': ['downloaded', 'report'],
  'account.updated': ['changed the account'],
  'account.stopped': ['stopped the account'],
  'account.resumed': ['resumed the account'],
  'series.ended': ['ended the series of', 'request'],
  'member.invited': ['invited', 'member'],
  'member.joined': ['joined the account'],
  'member.updated': ['changed', 'member'],
  'member.removed': ['removed', 'member'],
  'session.created': ['signed in'],
  'session.ended': ['ended a session'],
  'passkey.added': ['added a passkey'],
  'passkey.removed': ['removed a passkey'],
  'passkey.counter_went_back': ['used a passkey whose signature counter went back'],
  'permission.voted': ['gave one of the approvals for', 'request'],
  'permission.escalated': ['asked further reviewers about', 'request'],
};

/** An action without its target, to choose from: `invited a member`. */
export function actionLabel(action: Activity['action']): string {
  const [did, kind] = ACTIONS[action];
  if (kind === undefined) return did;
  return `${did} ${withArticle(kind)}`;
}

export function withArticle(kind: string): string {
  return `${/^[ae]/.test(kind) ? 'an' : 'a'} ${kind}`;
}
