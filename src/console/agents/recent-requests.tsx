import type { Id } from '../../lib/typeid';
import type { Permission } from '../../permissions/permission';
import { Badge } from '../parts/badge';
import { RequestTitle } from '../parts/request-title';
import { Code, Written } from '../parts/text';
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
            {permissions.map(({ id, title, action, resource, status, created_at }) => (
              <li class="request" data-row>
                <div class="what">
                  <a href={`/console/permissions/${id}`}>
                    <RequestTitle title={title} otherwise={action} />
                  </a>
                  <p class="soft">
                    <Code text={action} /> on <Written text={resource} />
                  </p>
                </div>
                <div class="side">
                  <Badge state={status} />
                  <p class="soft">
                    asked <TimeSince at={created_at} now={now} />
                  </p>
                </div>
              </li>
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
