import { shorten } from '../../lib/text';
import { limitsText } from '../../permissions/limit-texts';
import { isWithdrawn, type Permission } from '../../permissions/permission';
import { Section, Table } from '../parts/blocks';
import { Badge, Named, Time, Written } from '../parts/inline';
import { MAX_IN_LIST, RequestTitle } from '../parts/request';

/** What was decided about other requests of the same agent for the same action. */
export function SimilarRequests({ permissions }: { permissions: Permission[] }) {
  return (
    <Section name="similar" title="Other requests of this agent for this action" class="part">
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
            return (
              <tr>
                <th scope="row">
                  <a href={`/console/permissions/${id}`}>
                    <RequestTitle title={title} otherwise={resource} />
                  </a>
                </th>
                <td>
                  <Written text={shorten(limitsText(granted_scope ?? scope) || '–', MAX_IN_LIST)} />
                </td>
                <td>
                  <Badge state={status} label={isWithdrawn(permission) ? 'withdrawn' : status} />
                </td>
                <td>{by ? <Named id={by} /> : '–'}</td>
                <td>
                  <Time at={created_at} />
                </td>
              </tr>
            );
          })}
        </Table>
      )}
    </Section>
  );
}
