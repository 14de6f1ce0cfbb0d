import type { Activity } from '../../audit/list-activity';
import type { Scope } from '../../http/context';
import type { Names } from '../frame/names';
import { Device } from '../parts/device';
import { Named, Written } from '../parts/text';
import { Time } from '../parts/time';
import { ACTIONS, withArticle } from './words';

interface ActivityListProps {
  records: readonly Activity[];
  names: Names;
  scopes: readonly Scope[];
}

/** What people did to the account, one sentence for each action. */
export function ActivityList({ records, names, scopes }: ActivityListProps) {
  return (
    <ul class="activity">
      {records.map((record) => {
        const { action, target, changes, ip_address, user_agent, created_at } = record;
        const [did, kind] = ACTIONS[action];
        return (
          <li>
            <div class="what">
              <strong>
                <Actor record={record} names={names} />
              </strong>{' '}
              {did} {kind !== undefined && <Target id={target} kind={kind} names={names} scopes={scopes} />}
              {changes.length > 0 && (
                <p class="soft">
                  {action === 'permission.voted' ? 'Narrowed: ' : 'Changed: '}
                  <Written text={changes.map((name) => name.replaceAll('_', ' ')).join(', ')} />
                </p>
              )}
            </div>
            <p class="soft">
              <Time at={created_at} />
              {ip_address !== '' && (
                <>
                  {' · '}
                  <Written text={ip_address} />
                </>
              )}
              {user_agent !== '' && (
                <>
                  {' · '}
                  <Device userAgent={user_agent} />
                </>
              )}
            </p>
          </li>
        );
      })}
    </ul>
  );
}

/** Who did it. A download by a signed address has no actor, nor has what the service does by itself. */
function Actor({ record: { actor, action }, names }: { record: Activity; names: Names }) {
  if (actor === null) return action.endsWith('.downloaded') ? 'Somebody with the link' : 'Countersign';
  if (actor === 'operator') return 'The operator';
  if (actor.startsWith('utok_')) return <span title={actor}>A token of the account</span>;
  return <Named id={actor} names={names} />;
}

/** Where the pages of things are, by the prefix of their ids, and who may see them. */
const PAGES: Record<string, readonly [path: string, scope: Scope]> = {
  agent: ['/console/agents', 'agents:read'],
  policy: ['/console/policies', 'policies:read'],
  webhook: ['/console/webhooks', 'webhooks:read'],
  member: ['/console/members', 'account:read'],
  perm: ['/console/permissions', 'permissions:read'],
};

/** Kinds whose names are loaded, so that one without a name is deleted. */
const NAMED = ['agent', 'policy', 'member'];

interface TargetProps {
  id: string;
  kind: string;
  names: Names;
  scopes: readonly Scope[];
}

/** Names the target: `the agent Mailer`, or `a webhook` for kinds without names. Links to its page if it has one. */
function Target({ id, kind, names, scopes }: TargetProps) {
  const [prefix = ''] = id.split('_', 1);
  const [path, scope] = PAGES[prefix] ?? [];
  const isNamed = NAMED.includes(prefix);
  const hasPage = scope !== undefined && scopes.includes(scope) && (!isNamed || names.has(id));
  const name = isNamed ? <Named id={id} names={names} /> : <span title={id}>{withArticle(kind)}</span>;
  return (
    <>
      {isNamed && `the ${kind} `}
      {hasPage ? <a href={`${path}/${encodeURIComponent(id)}`}>{name}</a> : name}
    </>
  );
}
