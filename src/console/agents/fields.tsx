import { listMembers } from '../../accounts/members/list';
import type { UserContext } from '../../http/context';
import type { Refusal, Typed } from '../frame/form';
import { Field, SelectField, TextField } from '../parts/form';
import { visibleText } from '../parts/text';

/** A member who may own an agent. */
export interface Owner {
  id: string;
  name: string;
}

/** An account has at most 1,000 members. */
const MAX_MEMBERS = 1_000;

/** Loads the members who may own an agent, by name; null for callers who may not read who the members are. */
export async function loadOwners(context: UserContext): Promise<Owner[] | null> {
  if (!context.principal.scopes.includes('account:read')) return null;
  const { data } = await listMembers(context, { status: 'active', limit: MAX_MEMBERS });
  return data
    .map(({ id, name, email }) => ({ id, name: visibleText(name ?? email ?? id) }))
    .sort(({ name: a }, { name: b }) => a.localeCompare(b));
}

interface AgentFieldsProps {
  typed: Typed;
  /** Without them, the owner is not asked for. */
  owners: Owner[] | null;
  refusal?: Refusal | undefined;
}

/** The fields of an agent that people set. */
export function AgentFields({ typed, owners, refusal }: AgentFieldsProps) {
  return (
    <>
      <TextField
        label="Name"
        name="name"
        value={typed.name}
        maxlength={255}
        required
        autocomplete="off"
        hint="Those who decide see it with every request."
        refusal={refusal}
      />
      <Field label="Description (optional)" name="description" hint="What it does, and for whom." refusal={refusal}>
        {(attributes) => (
          <textarea {...attributes} maxlength={2000} rows={3}>
            {typed.description}
          </textarea>
        )}
      </Field>
      {owners && (
        <SelectField
          label="Owner"
          name="owner_id"
          value={typed.owner_id}
          options={owners.map(({ id, name }) => [id, name] as const)}
          hint="The member who is responsible for it. Review policies can keep owners from approving requests of their own agents."
          refusal={refusal}
        />
      )}
    </>
  );
}
