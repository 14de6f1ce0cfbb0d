import { MEMBER_ROLES, type MemberRole } from '../../db/schema';
import { ROLE_SCOPES } from '../../http/roles';
import { CheckBox } from '../parts/form';
import { Named } from '../parts/inline';
import type { PeopleValues } from './values';

const DECIDING_ROLES = MEMBER_ROLES.filter(mayDecide);

/** Whether the members with a role may decide. */
export function mayDecide(role: MemberRole): boolean {
  return ROLE_SCOPES[role].includes('permissions:decide');
}

interface PeopleFieldsProps {
  legend: string;
  /** The fields are called this, and `_roles` or `_members`. */
  name: string;
  values: PeopleValues;
  /** The ids of the members who may decide. */
  deciders: string[];
  hint: string;
}

/** Boxes for the roles and the members that may decide. Others that the policy names are there too, so that they stay. */
export function PeopleFields({ legend, name, values, deciders, hint }: PeopleFieldsProps) {
  const { roles, members } = values;
  return (
    <fieldset aria-describedby={`${name}-hint`}>
      <legend>{legend}</legend>
      <p class="hint" id={`${name}-hint`}>
        {hint}
      </p>
      <div class="choices">
        {union(DECIDING_ROLES, roles).map((role) => (
          <CheckBox label={`Every ${role}`} name={`${name}_roles`} value={role} checked={roles.includes(role)} />
        ))}
        {union(deciders, members).map((id) => (
          <CheckBox label={<Named id={id} />} name={`${name}_members`} value={id} checked={members.includes(id)} />
        ))}
      </div>
    </fieldset>
  );
}

/** The members of both lists, each once. */
export function union(offered: readonly string[], chosen: readonly string[]): string[] {
  return [...new Set([...offered, ...chosen])];
}
