import type { Agent } from '../../agents/agent';
import { DAY, HOUR, SECOND } from '../../lib/time';
import type { Refusal, Typed } from '../frame/form';
import type { Names } from '../frame/names';
import { ShownState } from '../frame/shown-state';
import { Action, Form, SelectField, TextField } from '../parts/form';
import { visibleText, Written } from '../parts/text';
import { AgentFields, type Owner } from './fields';

/** For how many seconds a replaced key may still work. */
const GRACE_PERIODS: readonly [seconds: string, label: string][] = [
  [0, 'not at all: it ends now, with all older ones'],
  [HOUR, 'for 1 hour'],
  [DAY, 'for 1 day'],
  [7 * DAY, 'for 7 days'],
  [30 * DAY, 'for 30 days'],
].map(([time, label]) => [String(Number(time) / SECOND), String(label)]);

/** A form that was refused. */
export interface RefusedForm {
  form: 'edit' | 'switch' | 'delete';
  refusal: Refusal;
  typed: Typed;
}

interface ManageProps {
  agent: Agent;
  names: Names;
  owners: Owner[] | null;
  refused: RefusedForm | undefined;
}

/** What can be changed about an agent. */
export function Manage({ agent, names, owners, refused }: ManageProps) {
  const { id, name, is_active } = agent;
  const path = `/console/agents/${id}`;
  const edit = refused?.form === 'edit' ? refused : undefined;
  const deletion = refused?.form === 'delete' ? refused : undefined;
  return (
    <section class="card manage" aria-labelledby="manage-title">
      <h2 id="manage-title">Manage</h2>
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
          label={is_active ? 'Switch off' : 'Switch on'}
          fields={{ is_active: String(!is_active), updated_at: agent.updated_at }}
        />
      </div>
      <details open={edit !== undefined}>
        <summary>Edit the agent</summary>
        <Form action={path} refusal={edit?.refusal}>
          <ShownState updatedAt={agent.updated_at} />
          <AgentFields {...editProps(agent, names, owners)} {...edit} />
          <p class="actions">
            <button type="submit">Save</button>
          </p>
        </Form>
      </details>
      <details>
        <summary>Make a new key</summary>
        <Form action={`${path}/rotate-key`} creates>
          <p>The new key is shown once. Choose how long the agent may go on with the present one.</p>
          <SelectField
            label="The present key works"
            name="grace_period"
            value={String(DAY / SECOND)}
            options={GRACE_PERIODS}
            hint="Keys that were replaced before keep the end that they have, unless all end now."
          />
          <p class="actions">
            <button type="submit">Make a new key</button>
          </p>
        </Form>
      </details>
      <details open={deletion !== undefined}>
        <summary>Delete</summary>
        <Form action={`${path}/delete`} refusal={deletion?.refusal}>
          <p>
            Deletes <Written text={name} /> for good, with its keys, requests, tokens and audit entries. Exports and
            reports that may hold its entries can no longer be downloaded.
          </p>
          <TextField
            label="Name of the agent, to confirm"
            name="confirmation"
            value={deletion?.typed.confirmation}
            autocomplete="off"
            required
            hint={
              <>
                Type{' '}
                <strong>
                  <Written text={visibleText(name)} />
                </strong>
              </>
            }
            refusal={deletion?.refusal}
          />
          <p class="actions">
            <button type="submit" class="danger">
              Delete the agent
            </button>
          </p>
        </Form>
      </details>
    </section>
  );
}

/**
 * What the form shows before somebody types. An owner who is no longer active stays until another one is chosen. Those who may
 * not read who the members are cannot choose another one.
 */
function editProps({ name, description = '', owner_id }: Agent, names: Names, owners: Owner[] | null) {
  const present = owner_id ?? '';
  const isOffered = owners?.some(({ id }) => id === present);
  const inactive = present === '' ? 'Nobody' : `${visibleText(names.get(present) ?? present)} (not active)`;
  const presentName = owners ? inactive : 'Keep as it is';
  return {
    typed: { name, description, owner_id: present },
    owners: isOffered ? owners : [{ id: present, name: presentName }, ...(owners ?? [])],
  };
}
