import { shorten } from '../../lib/text';
import { isWithdrawn, type Permission } from '../../permissions/permission';
import { Named, Time, Written } from '../parts/inline';
import { Deciders, MAX_IN_LIST, RequestRow } from '../parts/request';
import { OutcomeBadge } from '../permission/outcome';

/** Requests that have ended. */
export function EndedList({ permissions }: { permissions: Permission[] }) {
  return (
    <ul class="requests">
      {permissions.map((permission) => (
        <EndedRow permission={permission} />
      ))}
    </ul>
  );
}

/** Requests whose acts have an unknown outcome. */
export function UnknownList({ permissions }: { permissions: Permission[] }) {
  return (
    <ul class="requests">
      {permissions.map((permission) => (
        <UnknownRow permission={permission} />
      ))}
    </ul>
  );
}

/** A request that has ended: what it was, who decided, and when. */
function EndedRow({ permission }: { permission: Permission }) {
  return (
    <RequestRow request={permission} agent={<Named id={permission.agent_id} />}>
      <End permission={permission} />
    </RequestRow>
  );
}

/** Who decided a request, and when it ended. */
function End({ permission }: { permission: Permission }) {
  const { decided_at, updated_at, expires_at } = permission;
  const endedAt = isWithdrawn(permission) ? updated_at : expires_at;
  return (
    <>
      {decided_at && ['by ', <Deciders permission={permission} />, ', ']}
      <Time at={decided_at ?? endedAt} />
    </>
  );
}

/** A request whose outcome nobody knows, with what the program said. */
function UnknownRow({ permission }: { permission: Permission }) {
  const { agent_id, outcome } = permission;
  return (
    <RequestRow
      request={permission}
      agent={<Named id={agent_id} />}
      badge={<OutcomeBadge status="unknown" />}
    >
      {outcome?.summary && (
        <>
          The program says: “<Written text={shorten(outcome.summary, MAX_IN_LIST)} />”
          <br />
        </>
      )}
      Approved <End permission={permission} />
    </RequestRow>
  );
}
