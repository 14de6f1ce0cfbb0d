import { shorten } from '../../lib/text';
import type { Permission } from '../../permissions/permission';
import type { Names } from '../frame/names';
import { Badge } from '../parts/badge';
import { limitTexts } from '../parts/limits';
import { Table } from '../parts/list';
import { isWithdrawn } from '../parts/request-row';
import { MAX_IN_LIST, RequestTitle } from '../parts/request-title';
import { Named, Written } from '../parts/text';
import { Time } from '../parts/time';

interface SimilarRequestsProps {
  permissions: Permission[];
  names: Names;
}

/** What was decided about other requests of the same agent for the same action. */
export function SimilarRequests({ permissions, names }: SimilarRequestsProps) {
  return (
    <section aria-labelledby="similar-title" class="part">
      <h2 id="similar-title">Other requests of this agent for this action</h2>
      {permissions.length === 0 ? (
        <p class="soft">There is no other request of this agent for this action.</p>
      ) : (
        <Table
          caption="Other requests of this agent for this action"
          columns={['Request', 'Limits', 'Outcome', 'Decided by', 'Asked']}
        >
          {permissions.map((permission) => {
            const { id, title, resource, scope, granted_scope, status, decided_by, policy_id, created_at } = permission;
            const by = policy_id ?? decided_by;
            const limits = limitTexts(granted_scope ?? scope).map(([name, value]) => `${name} ${value}`);
            return (
              <tr>
                <th scope="row">
                  <a href={`/console/permissions/${id}`}>
                    <RequestTitle title={title} otherwise={resource} />
                  </a>
                </th>
                <td>
                  <Written text={shorten(limits.join(', ') || '–', MAX_IN_LIST)} />
                </td>
                <td>
                  <Badge state={status} label={isWithdrawn(permission) ? 'withdrawn' : status} />
                </td>
                <td>{by ? <Named id={by} names={names} /> : '–'}</td>
                <td>
                  <Time at={created_at} />
                </td>
              </tr>
            );
          })}
        </Table>
      )}
    </section>
  );
}
