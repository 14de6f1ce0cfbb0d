import { shorten } from '../../lib/text';
import type { Id } from '../../lib/typeid';
import { isWithdrawn, type Permission } from '../../permissions/permission';
import { joinElements, Named, Time, Written } from '../parts/inline';
import { Deciders, MAX_IN_LIST, RequestRow, voterOf } from '../parts/request';
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

/** Requests that a member decided or voted on, with the time of that. */
export function DecidedList({
  permissions,
  member,
}: {
  permissions: Permission[];
  member: Id<'member'> | undefined;
}) {
  return (
    <ul class="requests">
      {permissions.map((permission) => (
        <RequestRow request={permission} agent={<Named id={permission.agent_id} />}>
          <Everybody permission={permission} />
          <Time at={timeOfDecision(permission, member)} />
        </RequestRow>
      ))}
    </ul>
  );
}

/** When a member decided or last voted. */
function timeOfDecision(permission: Permission, member: Id<'member'> | undefined): string {
  const { decided_by, decided_at, review, updated_at } = permission;
  if (decided_by === member && decided_at !== null) return decided_at;
  return review?.votes?.findLast(({ by }) => by === member)?.at ?? updated_at;
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
      <Everybody permission={permission} />
      <Time at={decided_at ?? endedAt} />
    </>
  );
}

const VOTED = { approve: 'approved by ', deny: 'denied by ' };

/** Everybody who decided, and everybody who voted otherwise. */
function Everybody({ permission }: { permission: Permission }) {
  const { status, decided_at, review } = permission;
  const others = Map.groupBy(review?.votes ?? [], ({ decision }) => decision);
  if (status === 'approved') others.delete('approve');
  if (status === 'denied') others.delete('deny');
  return (
    <span class="deciders">
      {decided_at && ['by ', <Deciders permission={permission} />, ', ']}
      {[...others].map(([decision, votes]) => [
        VOTED[decision],
        joinElements(votes.map(voterOf), ' and '),
        ', ',
      ])}
    </span>
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
        <span class="wide">
          The program says: “<Written text={shorten(outcome.summary, MAX_IN_LIST)} />”
          <br />
        </span>
      )}
      Approved <End permission={permission} />
    </RequestRow>
  );
}
