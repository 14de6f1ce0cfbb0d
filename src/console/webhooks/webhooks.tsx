import {
  countRecentDeliveries,
  type RecentDeliveries,
} from '../../receivers/deliveries/count-recent';
import { listWebhooks } from '../../receivers/webhooks/list';
import { MAX_WEBHOOKS, type Webhook } from '../../receivers/webhooks/webhook';
import { sendPage } from '../frame/page';
import { Empty, LinkButton } from '../parts/blocks';
import { Written, WrittenLink } from '../parts/inline';
import { OF_WEBHOOKS } from '../receivers/events';
import { eventsText } from '../receivers/fields';
import { ReceiverState } from '../receivers/receiver-actions';
import { RecentResults } from '../receivers/recent';
import type { ConsoleContext } from '../session/access';
import { HowToVerify } from './secret';

/** Shows the account's webhooks: where each one sends what, and whether that works. */
export async function showWebhooks(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const [{ data }, recent] = await Promise.all([
    listWebhooks(context, { limit: MAX_WEBHOOKS }),
    countRecentDeliveries(context, 'webhook'),
  ]);
  const create = context.principal.scopes.includes('webhooks:write') && (
    <LinkButton href="/console/webhooks/new" label="Create a webhook" />
  );
  const ifEmpty = (
    <Empty title="There are no webhooks yet.">
      <p>
        A webhook is an address of yours to which Countersign sends a message when something
        happens.
      </p>
      {create || <p>A developer, admin or owner can create one.</p>}
    </Empty>
  );
  if (data.length === 0) return sendPage(c, { title: 'Webhooks', children: ifEmpty });
  const children = (
    <>
      <div class="bar">
        <p class="soft">Addresses to which Countersign sends a message when something happens.</p>
        {create}
      </div>
      <ul class="files">
        {data.map((webhook) => (
          <WebhookRow webhook={webhook} recent={recent.get(webhook.id)} />
        ))}
      </ul>
      <HowToVerify />
    </>
  );
  return sendPage(c, { title: 'Webhooks', children });
}

function WebhookRow({
  webhook,
  recent,
}: {
  webhook: Webhook;
  recent: RecentDeliveries | undefined;
}) {
  const { id, url, description, events, disabled_reason } = webhook;
  return (
    <li>
      <div class="what">
        <h2 class="first-lines">
          <WrittenLink href={`/console/webhooks/${id}`} text={url} />
        </h2>
        {description && (
          <p class="first-lines">
            <Written text={description} hasLines />
          </p>
        )}
        <p class="soft">{eventsText(OF_WEBHOOKS, events)}</p>
      </div>
      <div class="side">
        <p>
          <ReceiverState {...webhook} />
        </p>
        {disabled_reason && <p class="fault">{disabled_reason}</p>}
        <RecentResults recent={recent} />
      </div>
    </li>
  );
}
