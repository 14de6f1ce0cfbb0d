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

/** A request as a line of a list, with a link to its page. */
export function RequestRow({ request: { id, title, action, resource, status }, agent, children }: RequestRowProps) {
  return (
    <li class="request" data-row>
      <div class="what">
        <a href={`/console/permissions/${id}`}>
          <RequestTitle title={title} otherwise={action} />
        </a>
        <p class="soft">
          {agent && <>{agent} · </>}
          <Code text={action} /> on <Written text={resource} />
        </p>
      </div>
      <div class="side">
        <Badge state={status} />
        <p class="soft">{children}</p>
      </div>
    </li>
  );
}
