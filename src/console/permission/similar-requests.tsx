import type { Child } from 'hono/jsx';
import type { UserContext } from '../../http/context';
import { listPermissions } from '../../permissions/list';
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
  { name: 'Decided', hasLabel: true },
];

/** How many decisions a card shows. */
const SHOWN = 5;

/** The newest decisions on requests of an agent for an action. */
export async function listSimilar(
  context: UserContext,
  { id, agent_id, action }: Permission,
): Promise<Permission[]> {
  // One more, because the request of the card may be among them.
  const query = { agent_id, action, limit: SHOWN + 1 };
  const lists = await Promise.all([
    listPermissions(context, { ...query, status: 'approved' }),
    listPermissions(context, { ...query, status: 'denied' }),
  ]);
  return lists
    .flatMap(({ data }) => data)
    .filter((permission) => permission.id !== id)
    .sort((a, b) => (b.decided_at ?? '').localeCompare(a.decided_at ?? ''))
    .slice(0, SHOWN);
}

/** A table of what was decided on other requests of the same agent for the same action. */
export function SimilarRequests({ permissions }: { permissions: Permission[] }) {
  return (
    <Section name="similar" title="Past decisions on this action of the agent" class="part">
      {permissions.length === 0 && (
        <p class="soft">Nothing else was decided yet on this action of the agent.</p>
      )}
      {permissions.length > 0 && (
        <StackingTable
          caption="Past decisions on this action of the agent"
          columns={COLUMNS}
          rows={permissions.map(cellsOf)}
        />
      )}
    </Section>
  );
}

function cellsOf(permission: Permission): Child[] {
  const { id, title, resource, scope, granted_scope, decided_by, policy_id, decided_at } =
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
    decided_at && <Time at={decided_at} />,
  ];
}
