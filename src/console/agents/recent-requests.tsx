import type { Id } from '../../lib/typeid';
import type { Permission } from '../../permissions/permission';
import { RequestRow } from '../parts/request-row';
import { TimeSince } from '../parts/time';

interface RecentRequestsProps {
  agent: Id<'agent'>;
  permissions: Permission[];
  now: number;
  maySeeLog: boolean;
}

/** The newest requests of an agent. */
export function RecentRequests({ agent, permissions, now, maySeeLog }: RecentRequestsProps) {
  return (
    <section class="part" aria-labelledby="recent-title">
      <h2 id="recent-title">Recent requests</h2>
      {permissions.length === 0 ? (
        <p class="soft">It has asked for nothing yet.</p>
      ) : (
        <>
          <ul class="requests">
            {permissions.map((request) => (
              <RequestRow request={request}>
                asked <TimeSince at={request.created_at} now={now} />
              </RequestRow>
            ))}
          </ul>
          <p class="actions">
            <a href={`/console?agent_id=${agent}`}>Its requests in the inbox</a>
            {maySeeLog && <a href={`/console/audit?agent_id=${agent}`}>Its entries in the audit log</a>}
          </p>
        </>
      )}
    </section>
  );
}
