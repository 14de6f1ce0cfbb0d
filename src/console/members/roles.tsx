import type { Scope } from '../../http/context';
import { type MemberRole, rolesWith } from '../../identity/roles';
import { PlainList, Table } from '../parts/blocks';
import { FieldGroup, RadioButton } from '../parts/fields';
import { useTyped } from '../parts/refusal';

/** The purpose of each role, in one sentence. */
export const ROLE_SUMMARIES: Record<MemberRole, string> = {
  owner: 'May do everything, and decides who the owners are.',
  admin: 'May do everything, except change who the owners are.',
  approver: 'Approves and denies what agents ask for.',
  developer: 'Registers agents and webhooks. Decides nothing.',
  auditor: 'Reads everything and exports the log. Changes nothing.',
};

/** The things that people do, each with the scope that it needs; null if only owners may do it. */
const ABILITIES: readonly [ability: string, scope: Scope | null][] = [
  ['Read agents, requests, policies and the log', 'audit:read'],
  ['Approve and deny requests', 'permissions:decide'],
  ['Register, change and delete agents', 'agents:write'],
  ['Use the tokens of agents', 'tokens:use'],
  ['Change policies', 'policies:write'],
  ['Change webhooks', 'webhooks:write'],
  ['Export the log and order reports', 'audit:export'],
  ['Invite, change and remove members', 'account:write'],
  ['Invite, change and remove owners', null],
];

/** A table of the things that people can do, each with the roles that may. */
export function RoleTable() {
  return (
    <div class="part roles">
      <h2 id="roles">What each role may do</h2>
      <Table caption="What each role may do" columns={['What', 'Roles that may']}>
        {ABILITIES.map(([ability, scope]) => (
          <tr>
            <th scope="row">{ability}</th>
            <td>{rolesThatMay(scope).join(', ')}</td>
          </tr>
        ))}
      </Table>
    </div>
  );
}

/** Lists what somebody with a role can do. */
export function AbilityList({ role }: { role: MemberRole }) {
  const own = ABILITIES.filter(([, scope]) => rolesThatMay(scope).includes(role));
  return <PlainList items={own.map(([ability]) => ability)} />;
}

function rolesThatMay(scope: Scope | null): MemberRole[] {
  if (scope === null) return ['owner'];
  return rolesWith(scope);
}

/** A field with which a role is chosen, each with what it is for. */
export function RoleChoice({ roles, value }: { roles: readonly MemberRole[]; value?: string }) {
  const shown = useTyped('role', value);
  return (
    <FieldGroup legend="Role" path="role">
      {roles.map((role) => (
        <RadioButton
          name="role"
          value={role}
          checked={role === shown}
          label={[role, ' ', <small>{ROLE_SUMMARIES[role]}</small>]}
        />
      ))}
    </FieldGroup>
  );
}
