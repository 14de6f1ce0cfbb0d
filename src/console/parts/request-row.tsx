import type { Child } from 'hono/jsx';
import type { Permission } from '../../permissions/permission';
import { Badge } from './badge';
import { RequestTitle } from './request-title';
import { Code, Written } from './text';

interface RequestRowProps {
  request: Permission;
  /** Who asked, where the list has requests of several agents. */
  agent?: Child;
  /** What stands below the state. */
  children: Child;
}

/** Whether the agent took the request back: it ended undecided before it expired. */
export function isWithdrawn({ status, created_at, updated_at, expires_at }: Permission): boolean {
  return status === 'expired' && created_at < updated_at && updated_at < expires_at;
}

/** A request as a line of a list, which leads to its page. */
export function RequestRow({ request, agent, children }: RequestRowProps) {
  const { id, title, action, resource, status } = request;
  return (
    <li class="request" data-row>
      <div class="what">
        <a href={`/console/permissions/${id}`}>
          <RequestTitle title={title} otherwise={`${action} on ${resource}`} />
        </a>
        {(agent || title !== null) && (
          <p class="soft">
            {agent}
            {agent && title !== null && ' · '}
            {title !== null && (
              <>
                <Code text={action} /> on <Written text={resource} />
              </>
            )}
          </p>
        )}
      </div>
      <div class="side">
        <Badge state={status} label={isWithdrawn(request) ? 'withdrawn' : status} />
        <p class="soft">{children}</p>
      </div>
    </li>
  );
}
