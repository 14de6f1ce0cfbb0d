import type { Reader, RequestContext } from '../../http/context';
import type { CallerSql } from '../../identity/credentials';
import { requireRow } from '../../receivers/receiver';
import { createWebhook, WebhookCreation } from '../../receivers/webhooks/create';
import { updateWebhook, WebhookUpdate } from '../../receivers/webhooks/update';
import { preloadWebhook, presentWebhook, type Webhook } from '../../receivers/webhooks/webhook';
import {
  changedFields,
  nullIfEmpty,
  type Refusal,
  readForm,
  refusalOf,
  requireUnchanged,
  type SentForm,
  ShownState,
  validate,
} from '../frame/form';
import { loadNames } from '../frame/names';
import { sendPage } from '../frame/page';
import { TextField } from '../parts/fields';
import { Form, Submit } from '../parts/form';
import { SignInAgain } from '../parts/sign-in-again';
import { OF_WEBHOOKS } from '../receivers/events';
import {
  AgentChoices,
  agentsInWords,
  EventFields,
  preloadFormAgents,
  receiverForm,
} from '../receivers/fields';
import type { ConsoleContext, PreloadedContext, SignedInRequest } from '../session/access';
import { redirectWithFlash } from '../session/flash';
import { sendSecret } from './secret';

/** Shows the form that creates a webhook. */
export function showNewWebhook(c: ConsoleContext): Promise<Response> {
  return sendWebhookFormPage(c, null, {
    url: '',
    description: '',
    events: OF_WEBHOOKS.map(([event]) => event),
    agent_ids: [],
  });
}

/**
 * Creates a webhook, and shows its secret this once. If that is refused, shows the form again and
 * why.
 */
export async function addWebhook(c: PreloadedContext<typeof preloadFormAgents>): Promise<Response> {
  const fields = readWebhookFields(await readForm(c));
  try {
    const input = validate(WebhookCreation(), inputOf(fields));
    const agents = c.var.loaded.agents ?? [];
    const created = await c.var.once((context) => createWebhook(context, { agents, ...input }));
    return sendSecret(c, 'Webhook created', created);
  } catch (error) {
    return sendWebhookFormPage(c, null, fields, refusalOf(error));
  }
}

/** Preloads the webhook in the path, and those agents of the form that the account has. */
export async function preloadFormWebhook(c: RequestContext, reader: Reader, caller: CallerSql) {
  return {
    ...(await preloadWebhook(c, reader, caller)),
    ...(await preloadFormAgents(c, reader, caller)),
  };
}

/** Shows the form that changes the webhook in the path. */
export function showWebhookForm(c: PreloadedContext<typeof preloadWebhook>): Promise<Response> {
  const webhook = presentWebhook(requireRow(c.var.loaded.webhook, 'webhook'));
  return sendWebhookFormPage(c, webhook, fieldsOf(webhook));
}

/**
 * Changes the fields that differ from the webhook as it is. If that is refused, shows the form
 * again and why.
 */
export async function editWebhook(
  c: PreloadedContext<typeof preloadFormWebhook>,
): Promise<Response> {
  const webhook = presentWebhook(requireRow(c.var.loaded.webhook, 'webhook'));
  const form = await readForm(c);
  const fields = readWebhookFields(form);
  try {
    const changed = changedFields(inputOf(fieldsOf(webhook)), inputOf(fields));
    if (Object.keys(changed).length > 0) {
      requireUnchanged('webhook', form, webhook.updated_at, inWords(webhook), changed);
      const input = validate(WebhookUpdate(), changed);
      await updateWebhook(c.var.signedIn.context, {
        id: webhook.id,
        agents: c.var.loaded.agents ?? [],
        ...input,
      });
    }
  } catch (error) {
    return sendWebhookFormPage(c, webhook, fields, refusalOf(error));
  }
  return redirectWithFlash(c, `/console/webhooks/${webhook.id}`, 'saved');
}

/** The fields of a webhook as they are now, in words. */
function inWords({ url, description, events, agent_ids: agents }: Webhook) {
  return {
    url,
    description: description ?? '',
    events: events.join(', '),
    agent_ids: agentsInWords(agents),
  };
}

/** The fields of the form. */
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
  return { ...fields, agent_ids: nullIfEmpty(agent_ids) };
}

/** Answers with the form that changes a webhook, or creates one if there is none yet. */
export async function sendWebhookFormPage(
  c: SignedInRequest,
  webhook: Webhook | null,
  { url, description, events, agent_ids }: WebhookFields,
  refusal?: Refusal,
): Promise<Response> {
  const names = await loadNames(c.var.signedIn.context, ['agents']);
  const { title, path, action, label } = receiverForm('webhook', webhook);
  return sendPage(c, {
    title,
    isNarrow: true,
    names,
    status: refusal?.status,
    children: (
      <>
        {!webhook && <SignInAgain page="/console/webhooks/new" purpose="To create a webhook" />}
        <Form action={action} refusal={refusal} class="card" creates={!webhook}>
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
          <EventFields known={OF_WEBHOOKS} events={events} />
          <AgentChoices
            path="agent_ids"
            agentIds={agent_ids}
            hint={[
              'Limits the messages about agents (',
              <code>audit.created</code>,
              ' and permissions) to those that are checked. If none is checked, all agents count.',
            ]}
          />
          <Submit label={label} cancel={path} />
        </Form>
      </>
    ),
  });
}
