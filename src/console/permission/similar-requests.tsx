import type { Child } from 'hono/jsx';
import type { Permission } from '../../permissions/permission';
import { Section } from '../parts/blocks';
import { Time } from '../parts/inline';
import { ByWhom, LimitsLine, RequestTitle, StateBadge } from '../parts/request';
import { StackingTable } from '../parts/stacking-table';

const COLUMNS = [
  { name: 'Request' },
  { name: 'Limits' },
  { name: 'State' },
  { name: 'Decided by', hasLabel: true },
  { name: 'Asked', hasLabel: true },
];

/** A table of other requests of the same agent for the same action, and how each ended. */
export function SimilarRequests({ permissions }: { permissions: Permission[] }) {
  return (
    <Section name="similar" title="Other requests of this agent for this action" class="part">
      {permissions.length === 0 && (
        <p class="soft">There is no other request of this agent for this action.</p>
      )}
      {permissions.length > 0 && (
        <StackingTable
          caption="Other requests of this agent for this action"
          columns={COLUMNS}
          rows={permissions.map(cellsOf)}
        />
      )}
    </Section>
  );
}

function cellsOf(permission: Permission): Child[] {
  const { id, title, resource, scope, granted_scope, decided_by, policy_id, created_at } =
    permission;
  const by = policy_id ?? decided_by;
  const limits = granted_scope ?? scope;
  return [
    <a href={`/console/permissions/${id}`}>
      <RequestTitle
        title={title}
        otherwise={resource}
        isOfConnection={permission.connection_id !== null}
      />
    </a>,
    Object.keys(limits).length > 0 && <LimitsLine scope={limits} />,
    <StateBadge request={permission} />,
    by && <ByWhom id={by} isShort />,
    <Time at={created_at} />,
  ];
}
