import type { Id } from '../../lib/typeid';
import type { Permission } from '../../permissions/permission';
import { Section } from '../parts/blocks';
import { TimeSince } from '../parts/inline';
import { RequestRow } from '../parts/request';

interface RecentRequestsProps {
  agent: Id<'agent'>;
  permissions: Permission[];
  maySeeLog: boolean;
}

/** The newest requests of an agent. */
export function RecentRequests({ agent, permissions, maySeeLog }: RecentRequestsProps) {
  return (
    <Section name="recent" title="Recent requests" class="part">
      {permissions.length === 0 ? (
        <p class="soft">It has asked for nothing yet.</p>
      ) : (
        <>
          <ul class="requests">
            {permissions.map((request) => (
              <RequestRow request={request}>
                asked <TimeSince at={request.created_at} />
              </RequestRow>
            ))}
          </ul>
          <p class="actions">
            <a href={`/console?agent_id=${agent}`}>Its requests in the inbox</a>
            {maySeeLog && <a href={`/console/audit?agent_id=${agent}`}>Its entries in the audit log</a>}
          </p>
        </>
      )}
    </Section>
  );
}
