import { pathId } from '../../http/path-id';
import { DeliveryStatus } from '../../receivers/deliveries/delivery';
import { requireRow } from '../../receivers/receiver';
import { deleteWebhook } from '../../receivers/webhooks/delete';
import { listDeliveries } from '../../receivers/webhooks/deliveries/list';
import { rotateSecret } from '../../receivers/webhooks/rotate-secret';
import { testWebhook } from '../../receivers/webhooks/send-test';
import { updateWebhook } from '../../receivers/webhooks/update';
import {
  type preloadWebhook,
  presentWebhook,
  type Webhook,
} from '../../receivers/webhooks/webhook';
import { type Refusal, refusalOf } from '../frame/form';
import { loadNames } from '../frame/names';
import { sendPage } from '../frame/page';
import { Facts, ListOrAll, PAGE_SIZE } from '../parts/blocks';
import { Alert, Form, Submit } from '../parts/form';
import { Creator, Named, Time, Written, WrittenText } from '../parts/inline';
import { Deliveries } from '../receivers/deliveries';
import { OF_WEBHOOKS } from '../receivers/events';
import { eventsText } from '../receivers/fields';
import {
  DeleteBox,
  ReceiverActions,
  ReceiverState,
  readSwitch,
} from '../receivers/receiver-actions';
import type { ConsoleContext, PreloadedContext } from '../session/access';
import { redirectWithFlash } from '../session/flash';
import { HowToVerify, sendSecret } from './secret';

export type WebhookContext = PreloadedContext<typeof preloadWebhook>;

/**
 * Shows the webhook in the path: what it sends, what one can do with it, and its deliveries.
 * @param refusal why the change in this request was refused
 */
export async function showWebhook(c: WebhookContext, refusal?: Refusal): Promise<Response> {
  const { context } = c.var.signedIn;
  const row = requireRow(c.var.loaded.webhook, 'webhook');
  const status = DeliveryStatus().options.find((status) => status === c.req.query('status'));
  const [deliveries, names] = await Promise.all([
    listDeliveries(context, {
      receiver: row,
      limit: PAGE_SIZE,
      status,
      cursor: c.req.query('cursor'),
    }),
    loadNames(context, row.agentIds === null ? ['people'] : ['people', 'agents']),
  ]);
  const webhook = presentWebhook(row);
  const mayWrite = context.principal.scopes.includes('webhooks:write');
  const path = `/console/webhooks/${webhook.id}`;
  const address = new URL(path + new URL(c.req.url).search, c.req.url);
  return sendPage(c, {
    title: webhook.url,
    names,
    heading: <Written text={webhook.url} />,
    status: refusal?.status,
    children: (
      <>
        {refusal && <Alert>{refusal.detail}</Alert>}
        <p class="actions">
          <ReceiverState {...webhook} />
        </p>
        {webhook.disabled_reason && (
          <p class="notice bad">
            Countersign has stopped sending to this address. {webhook.disabled_reason}
            {mayWrite &&
              ' Once the receiver works, or after you changed the URL, switch the webhook on.'}
          </p>
        )}
        {webhook.description && <WrittenText text={webhook.description} label="Description" />}
        <AboutWebhook webhook={webhook} />
        {mayWrite && <Changes webhook={webhook} />}
        <Deliveries
          path={path}
          status={status}
          address={address}
          page={deliveries}
          advice={webhook.is_active && 'Send a test to see whether your receiver answers.'}
        />
        <HowToVerify />
      </>
    ),
  });
}

function AboutWebhook({ webhook }: { webhook: Webhook }) {
  const { events, agent_ids, created_by, created_at, updated_at } = webhook;
  return (
    <Facts
      facts={[
        ['Events', eventsText(OF_WEBHOOKS, events)],
        [
          'Agents',
          <ListOrAll values={agent_ids} show={(id) => <Named id={id} />} all="All agents" />,
        ],
        ['Created', <Time at={created_at} />],
        ['Created by', <Creator id={created_by} />],
        ['Changed', <Time at={updated_at} />],
      ]}
    />
  );
}

/** The forms that change a webhook. One whose change cannot be undone asks once more. */
function Changes({ webhook: { id, is_active, updated_at } }: { webhook: Webhook }) {
  const path = `/console/webhooks/${id}`;
  return (
    <>
      <ReceiverActions path={path} is_active={is_active} updated_at={updated_at} />
      <div class="part">
        <details>
          <summary>Make a new secret</summary>
          <Form action={`${path}/rotate-secret`} class="asking" creates>
            <p>
              For 24 hours both secrets sign every message, so that you can change the receiver. If
              you do this twice within that time, the older secret ends at once.
            </p>
            <Submit label="Make a new secret" kind="small" />
          </Form>
        </details>
        <DeleteBox path={path} noun="webhook">
          Nothing more is sent to it, and its deliveries are deleted too. This cannot be undone.
        </DeleteBox>
      </div>
    </>
  );
}

/**
 * Switches the webhook in the path on or off: on, only if nobody changed it since the page was
 * shown.
 */
export async function switchWebhook(c: WebhookContext): Promise<Response> {
  const { id, updated_at } = presentWebhook(requireRow(c.var.loaded.webhook, 'webhook'));
  try {
    const is_active = await readSwitch(c, 'webhook', updated_at);
    await updateWebhook(c.var.signedIn.context, { id, agents: [], is_active });
  } catch (error) {
    return showWebhook(c, refusalOf(error));
  }
  return redirectWithFlash(c, `/console/webhooks/${id}`, 'saved');
}

/** Gives the webhook in the path a new secret, and shows it this once. */
export async function rotateWebhookSecret(c: WebhookContext): Promise<Response> {
  const webhook = requireRow(c.var.loaded.webhook, 'webhook');
  return sendSecret(
    c,
    'The new secret',
    await c.var.once((context) => rotateSecret(context, { webhook })),
  );
}

/** Deletes the webhook in the path. */
export async function removeWebhook(c: ConsoleContext): Promise<Response> {
  await deleteWebhook(c.var.signedIn.context, { id: pathId(c, 'webhook') });
  return redirectWithFlash(c, '/console/webhooks', 'deleted');
}

/** Sends a test to the webhook in the path, and shows its delivery. */
export async function sendTest(c: WebhookContext): Promise<Response> {
  const webhook = requireRow(c.var.loaded.webhook, 'webhook');
  try {
    const { id } = await testWebhook(c.var.signedIn.context, { webhook });
    return redirectWithFlash(c, `/console/webhooks/${webhook.id}/deliveries/${id}`, 'sent');
  } catch (error) {
    return showWebhook(c, refusalOf(error));
  }
}
