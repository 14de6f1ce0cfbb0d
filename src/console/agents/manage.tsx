import type { Agent } from '../../agents/agent';
import { DAY, HOUR, SECOND } from '../../lib/time';
import { type RefusedForm, refusalAt, ShownState } from '../frame/form';
import type { Names } from '../frame/names';
import { usePage } from '../frame/page-context';
import { Section } from '../parts/blocks';
import { type Options, SelectField, TextField } from '../parts/fields';
import { Action, Form, Submit } from '../parts/form';
import { toOneLine, Written } from '../parts/inline';
import { switchLabel } from '../parts/words';
import { AgentFields } from './fields';

/** How long a replaced key may still work, in seconds, with the words of the form. */
const GRACE_PERIODS: Options = [
  [inSeconds(0), 'not at all: it ends now, with all older ones'],
  [inSeconds(HOUR), 'for 1 hour'],
  [inSeconds(DAY), 'for 1 day'],
  [inSeconds(7 * DAY), 'for 7 days'],
  [inSeconds(30 * DAY), 'for 30 days'],
];

function inSeconds(milliseconds: number): string {
  return String(milliseconds / SECOND);
}

/** A form of an agent's page that was refused. */
export type RefusedAgentForm = RefusedForm<'edit' | 'switch' | 'delete'>;

interface ManageProps {
  agent: Agent;
  owners: Options | null;
  refused: RefusedAgentForm | undefined;
}

/** The section in which an agent is switched, edited or deleted, or gets a new key. */
export function Manage({ agent, owners, refused }: ManageProps) {
  const { id, name, is_active } = agent;
  const path = `/console/agents/${id}`;
  return (
    <Section name="manage" title="Manage" class="card manage">
      {refused?.form === 'switch' && (
        <p class="notice bad" role="alert" tabindex={-1} autofocus>
          {refused.refusal.detail}
        </p>
      )}
      <div class="bar">
        <p class="soft">
          {is_active
            ? 'While an agent is off, its key is refused and its tokens cannot be used.'
            : 'It is off: its key is refused and its tokens cannot be used.'}
        </p>
        <Action
          action={`${path}/switch`}
          label={switchLabel(is_active)}
          fields={{ is_active: String(!is_active), updated_at: agent.updated_at }}
        />
      </div>
      <details open={refused?.form === 'edit'}>
        <summary>Edit the agent</summary>
        <Form action={path} refusal={refusalAt(refused, 'edit')}>
          <ShownState updatedAt={agent.updated_at} />
          <AgentFields {...editProps(agent, usePage().names, owners)} />
          <Submit label="Save" />
        </Form>
      </details>
      <details>
        <summary>Make a new key</summary>
        <Form action={`${path}/rotate-key`} creates>
          <p>The new key is shown once. Choose how long the agent can still use the present key.</p>
          <SelectField
            label="The present key works"
            name="grace_period"
            value={inSeconds(DAY)}
            options={GRACE_PERIODS}
            hint="Keys that were replaced earlier keep their own end, unless all keys end now."
          />
          <Submit label="Make a new key" />
        </Form>
      </details>
      <details open={refused?.form === 'delete'}>
        <summary>Delete</summary>
        <Form action={`${path}/delete`} refusal={refusalAt(refused, 'delete')}>
          <p>
            Deletes <Written text={name} /> for good, with its keys, requests, tokens and audit
            entries. Exports and reports that may hold its entries can no longer be downloaded.
          </p>
          <TextField
            label="Name of the agent, to confirm"
            name="confirmation"
            autocomplete="off"
            required
            hint={[
              'Type ',
              <strong>
                <Written text={toOneLine(name)} />
              </strong>,
            ]}
          />
          <Submit label="Delete the agent" kind="danger" />
        </Form>
      </details>
    </Section>
  );
}

/**
 * The first values of the form. An owner who is no longer active stays in the list until another
 * one is chosen. A caller who may not read members cannot choose another owner.
 */
function editProps(
  { name, description = '', owner_id }: Agent,
  names: Names,
  owners: Options | null,
) {
  const present = owner_id ?? '';
  const values = { name, description, owner_id: present };
  if (!owners) return { values, owners: [[present, 'Keep as it is'] as const] };
  if (owners.some(([id]) => id === present)) return { values, owners };
  const inactive =
    present === '' ? 'Nobody' : `${toOneLine(names.get(present) ?? present)} (not active)`;
  return { values, owners: [[present, inactive] as const, ...owners] };
}
