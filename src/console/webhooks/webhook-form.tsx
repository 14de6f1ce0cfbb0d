import type { WebhookEvent } from '../../db/schema';
import type { Webhook } from '../../webhooks/webhook';
import type { Refusal, Form as SentForm } from '../frame/form';
import type { Names } from '../frame/names';
import { ShownState } from '../frame/shown-state';
import { CheckBox, Form, TextField } from '../parts/form';
import { Named } from '../parts/text';
import { EVENTS } from './events';

/** What the form of a webhook says, as texts. */
export interface WebhookFields {
  url: string;
  description: string;
  events: string[];
  /** Empty for all agents. */
  agent_ids: string[];
}

export function readWebhookFields(form: SentForm): WebhookFields {
  return {
    url: form.text('url').trim(),
    description: form.text('description'),
    events: form.list('events'),
    agent_ids: form.list('agent_ids'),
  };
}

/** The fields of a webhook as it is. */
export function fieldsOf({ url, description, events, agent_ids }: Webhook): WebhookFields {
  return { url, description: description ?? '', events, agent_ids: agent_ids ?? [] };
}

/** The fields as the API takes them. */
export function inputOf({ agent_ids, ...fields }: WebhookFields) {
  return { ...fields, agent_ids: agent_ids.length > 0 ? agent_ids : null };
}

interface WebhookFormProps {
  action: string;
  fields: WebhookFields;
  names: Names;
  submit: string;
  back: string;
  /** When the webhook was changed last, if there is one already. */
  updatedAt?: string;
  refusal?: Refusal | undefined;
}

/** The form with which a webhook is created or changed. */
export function WebhookForm({ action, fields, names, submit, back, updatedAt, refusal }: WebhookFormProps) {
  const { url, description, events, agent_ids } = fields;
  const agents = [...names.keys()].filter((id) => id.startsWith('agent_'));
  const unnamed = agent_ids.filter((id) => !names.has(id));
  return (
    <Form action={action} refusal={refusal} class="card" creates={updatedAt === undefined}>
      {updatedAt !== undefined && <ShownState updatedAt={updatedAt} />}
      <TextField
        label="URL"
        name="url"
        type="url"
        value={url}
        required
        maxlength={2_048}
        placeholder="https://hooks.example.com/countersign"
        hint="Where the messages are sent: https, with a public host name."
        refusal={refusal}
      />
      <TextField
        label="Description (optional)"
        name="description"
        value={description}
        maxlength={2_000}
        hint="What it is for, so that others know."
        refusal={refusal}
      />
      <fieldset aria-describedby={faultOf(refusal, 'events') && 'events-fault'}>
        <legend>Events</legend>
        {EVENTS.map(([event, meaning]) => (
          <CheckBox
            name="events"
            value={event}
            checked={events.includes(event)}
            label={
              <>
                {meaning} <small class="line">{event}</small>
              </>
            }
          />
        ))}
        <Fault
          id="events-fault"
          text={
            faultOf(refusal, 'events') &&
            (events.length === 0 ? 'Check at least one event.' : faultOf(refusal, 'events'))
          }
        />
      </fieldset>
      {agents.length + unnamed.length > 0 && (
        <fieldset aria-describedby={faultOf(refusal, 'agent_ids') && 'agents-fault'}>
          <legend>Agents</legend>
          <p class="hint">
            Limits the messages about agents (<code>audit.created</code>) to those that are checked. If none is checked,
            all agents count.
          </p>
          <div class="choices">
            {[...agents, ...unnamed].map((id) => (
              <CheckBox
                name="agent_ids"
                value={id}
                checked={agent_ids.includes(id)}
                label={<Named id={id} names={names} />}
              />
            ))}
          </div>
          <Fault id="agents-fault" text={faultOf(refusal, 'agent_ids')} />
        </fieldset>
      )}
      <p class="actions">
        <button type="submit">{submit}</button>
        <a class="button quiet" href={back}>
          Cancel
        </a>
      </p>
    </Form>
  );
}

/** What is wrong with a list, or with one of its members. */
function faultOf(refusal: Refusal | undefined, list: string): string | undefined {
  return [...(refusal?.faults ?? [])].find(([path]) => path === list || path.startsWith(`${list}.`))?.[1];
}

function Fault({ id, text }: { id: string; text: string | undefined }) {
  return (
    text !== undefined && (
      <p class="fault" id={id}>
        {text}
      </p>
    )
  );
}

/** The events that a new webhook is for, unless somebody changes them. */
export const ALL_EVENTS: readonly WebhookEvent[] = EVENTS.map(([event]) => event);
