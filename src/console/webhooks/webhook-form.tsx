import type { Webhook } from '../../webhooks/webhook';
import type { Refusal, Form as SentForm } from '../frame/form';
import { agentsOf, loadNames } from '../frame/names';
import { sendPage } from '../frame/page';
import { ShownState } from '../frame/shown-state';
import { CheckBox, FieldGroup, Form, Submit, TextField } from '../parts/form';
import { Named } from '../parts/inline';
import type { SignedInRequest } from '../session/access';
import { EVENTS } from './events';

/** What the form of a webhook says. */
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

/** Answers with the form that changes a webhook, or creates one if there is none yet. */
export async function sendWebhookForm(
  c: SignedInRequest,
  webhook: Webhook | null,
  { url, description, events, agent_ids }: WebhookFields,
  refusal?: Refusal,
): Promise<Response> {
  const names = await loadNames(c.var.signedIn.context, ['agents']);
  const agents = new Set([...agentsOf(names).map(([id]) => id), ...agent_ids]);
  const path = `/console/webhooks${webhook ? `/${webhook.id}` : ''}`;
  return sendPage(c, {
    title: webhook ? 'Change the webhook' : 'Create a webhook',
    isNarrow: true,
    names,
    status: refusal?.status,
    children: (
      <Form action={webhook ? `${path}/edit` : path} refusal={refusal} class="card" creates={!webhook}>
        {webhook && <ShownState updatedAt={webhook.updated_at} />}
        <TextField
          label="URL"
          name="url"
          type="url"
          value={url}
          required
          maxlength={2_048}
          placeholder="https://hooks.example.com/countersign"
          hint="Where the messages are sent: https, with a public host name."
        />
        <TextField
          label="Description (optional)"
          name="description"
          value={description}
          maxlength={2_000}
          hint="What it is for, so that others know."
        />
        <FieldGroup
          legend="Events"
          name="events"
          faultText={events.length === 0 ? 'Check at least one event.' : undefined}
        >
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
        </FieldGroup>
        {agents.size > 0 && (
          <FieldGroup legend="Agents" name="agent_ids">
            <p class="hint">
              Limits the messages about agents (<code>audit.created</code>) to those that are checked. If none is
              checked, all agents count.
            </p>
            <div class="choices">
              {[...agents].map((id) => (
                <CheckBox name="agent_ids" value={id} checked={agent_ids.includes(id)} label={<Named id={id} />} />
              ))}
            </div>
          </FieldGroup>
        )}
        <Submit label={webhook ? 'Save the changes' : 'Create the webhook'} cancel={path} />
      </Form>
    ),
  });
}
