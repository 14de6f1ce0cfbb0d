import { listMembers } from '../../accounts/members/list';
import type { UserContext } from '../../http/context';
import { type Options, SelectField, TextArea, TextField } from '../parts/fields';
import { toOneLine } from '../parts/inline';

/** An account has at most 1,000 members. */
const MAX_MEMBERS = 1_000;

/**
 * Loads the members who may own an agent, by name; null for callers who may not read who the
 * members are.
 */
export async function loadOwners(context: UserContext): Promise<Options | null> {
  if (!context.principal.scopes.includes('account:read')) return null;
  const { data } = await listMembers(context, { status: 'active', limit: MAX_MEMBERS });
  return data
    .map(({ id, name, email }) => [id, toOneLine(name ?? email ?? id)] as const)
    .sort(([, a], [, b]) => a.localeCompare(b));
}

interface AgentFieldsProps {
  /** The first values of the fields. */
  values: { name?: string; description?: string; owner_id: string };
  /** Without them, the owner is not asked for. */
  owners: Options | null;
}

/** The fields of an agent that people set. */
export function AgentFields({ values, owners }: AgentFieldsProps) {
  return (
    <>
      <TextField
        label="Name"
        name="name"
        value={values.name}
        maxlength={255}
        required
        autocomplete="off"
        hint="People see it with every request of the agent."
      />
      <TextArea
        label="Description (optional)"
        name="description"
        value={values.description}
        maxlength={2000}
        rows={3}
        hint="What it does, and for whom."
      />
      {owners && (
        <SelectField
          label="Owner"
          name="owner_id"
          value={values.owner_id}
          options={owners}
          hint="The member who is responsible for it. Review policies can keep owners from approving requests of their own agents."
        />
      )}
    </>
  );
}
