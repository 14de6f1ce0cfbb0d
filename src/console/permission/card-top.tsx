import type { Permission } from '../../permissions/permission';
import { Code, TimeLeft, TimeSince, Written, WrittenLink } from '../parts/inline';
import { Deciders, StateBadge } from '../parts/request';
import type { Card } from './load-card';
import { isTroubled, OutcomeBadge } from './outcome';

/** The top of a card: who asks for what, and how the request stands. */
export function CardTop({ card }: { card: Card }) {
  const { permission, agentName, isPending } = card;
  return (
    <div class="card-top">
      <p>
        <strong>
          <WrittenLink href={`/console/agents/${permission.agent_id}`} text={agentName} />
        </strong>{' '}
        {isPending ? 'asks' : 'asked'} for <Code text={permission.action} /> on{' '}
        <strong>
          <Written text={permission.resource} />
        </strong>
      </p>
      <StatedTitle permission={permission} />
      <StateLine card={card} />
    </div>
  );
}

/** The title of the request, and who says so: the agent, or the service for a connection. */
function StatedTitle({ permission: { title, connection_id } }: { permission: Permission }) {
  if (title === null) return null;
  return (
    <p>
      <span class="says">{connection_id === null ? 'Agent says: ' : 'To be sent: '}</span>
      <Written text={title} />
    </p>
  );
}

function StateLine({ card: { permission, isPending, isOfConnection } }: { card: Card }) {
  return (
    <p class="actions">
      <StateBadge request={permission} />
      {isTroubled(permission) && (
        <OutcomeBadge status={permission.outcome.status} isOfConnection={isOfConnection} />
      )}
      {permission.decided_at && (
        <span>
          by{' '}
          <strong>
            <Deciders permission={permission} />
          </strong>
        </span>
      )}
      {isPending && (
        <span>
          <TimeLeft until={permission.expires_at} /> to decide
        </span>
      )}
      <span class="soft">
        asked <TimeSince at={permission.created_at} />
      </span>
    </p>
  );
}
