import { CheckBox } from '../parts/fields';
import { Named } from '../parts/inline';
import { DECIDING_ROLES } from './deciders';
import type { PeopleValues } from './values';

/** A member who may decide. */
export interface Decider {
  id: string;
  /** Whether the member has not joined yet, and so decides nothing until then. */
  isInvited: boolean;
}

interface PeopleFieldsProps {
  legend: string;
  /** The fields are called this, and `_roles` or `_members`. */
  name: string;
  values: PeopleValues;
  deciders: Decider[] | null;
  hint: string;
}

/**
 * Boxes for the roles and members that may decide, and for any others that the policy names, so
 * that these stay.
 */
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
          <CheckBox
            label={`Every ${role}`}
            name={`${name}_roles`}
            value={role}
            checked={roles.includes(role)}
          />
        ))}
        {union(
          (deciders ?? []).map(({ id }) => id),
          members,
        ).map((id) => (
          <CheckBox
            label={[
              <Named id={id} isShort />,
              <small>{deciders && standingOf(deciders.find((each) => each.id === id))}</small>,
            ]}
            name={`${name}_members`}
            value={id}
            checked={members.includes(id)}
          />
        ))}
      </div>
    </fieldset>
  );
}

/** Why a member who is named does not count as a reviewer; null for one who counts. */
function standingOf(decider: Decider | undefined): string | null {
  if (!decider) return 'is gone, or may not decide';
  return decider.isInvited ? 'invited: counts once they have joined' : null;
}

/** The members of both lists, each once. */
export function union(offered: readonly string[], chosen: readonly string[]): string[] {
  return [...new Set([...offered, ...chosen])];
}
