import type { Child } from 'hono/jsx';
import { isWithdrawn, type Permission } from '../../permissions/permission';
import { Section } from '../parts/blocks';
import { Badge, Named, Time } from '../parts/inline';
import { LimitsLine, RequestTitle } from '../parts/request';
import { StackingTable } from '../parts/stacking-table';

const COLUMNS = [
  { name: 'Request' },
  { name: 'Limits' },
  { name: 'Outcome' },
  { name: 'Decided by', hasLabel: true },
  { name: 'Asked', hasLabel: true },
];

/** What was decided about other requests of the same agent for the same action. */
export function SimilarRequests({ permissions }: { permissions: Permission[] }) {
  return (
    <Section name="similar" title="Other requests of this agent for this action" class="part">
      {permissions.length === 0 ? (
        <p class="soft">There is no other request of this agent for this action.</p>
      ) : (
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
  const { id, title, resource, scope, granted_scope, status, decided_by, policy_id, created_at } =
    permission;
  const by = policy_id ?? decided_by;
  const limits = granted_scope ?? scope;
  return [
    <a href={`/console/permissions/${id}`}>
      <RequestTitle title={title} otherwise={resource} />
    </a>,
    Object.keys(limits).length === 0 ? null : <LimitsLine scope={limits} />,
    <Badge state={status} label={isWithdrawn(permission) ? 'withdrawn' : status} />,
    by ? <Named id={by} isShort /> : null,
    <Time at={created_at} />,
  ];
}
