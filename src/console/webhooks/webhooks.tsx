import { countRecentDeliveries, type RecentDeliveries } from '../../webhooks/deliveries/count-recent';
import { listWebhooks } from '../../webhooks/list';
import { MAX_WEBHOOKS, type Webhook } from '../../webhooks/webhook';
import { sendPage } from '../frame/page';
import { Empty, LinkButton } from '../parts/blocks';
import { Badge, Written, WrittenLink } from '../parts/inline';
import type { ConsoleContext } from '../session/access';
import { eventsText } from './events';
import { HowToVerify } from './secret';

/** Shows the account's webhooks: where each one sends what, and whether that works. */
export async function showWebhooks(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const [{ data }, recent] = await Promise.all([
    listWebhooks(context, { limit: MAX_WEBHOOKS }),
    countRecentDeliveries(context),
  ]);
  const create = context.principal.scopes.includes('webhooks:write') && (
    <LinkButton href="/console/webhooks/new" label="Create a webhook" />
  );
  return sendPage(c, {
    title: 'Webhooks',
    children:
      data.length === 0 ? (
        <Empty title="There are no webhooks yet.">
          <p>A webhook is an address of yours to which Countersign sends a message when something happens.</p>
          {create || <p>A developer, admin or owner can create one.</p>}
        </Empty>
      ) : (
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
      ),
  });
}

function WebhookRow({ webhook, recent }: { webhook: Webhook; recent: RecentDeliveries | undefined }) {
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
        <p class="soft">{eventsText(events)}</p>
      </div>
      <div class="side">
        <p>
          <WebhookState webhook={webhook} />
        </p>
        {disabled_reason && <p class="fault">{disabled_reason}</p>}
        <p class={recent && recent.failed + recent.retried > 0 ? 'fault' : 'soft'}>{recentText(recent)}</p>
      </div>
    </li>
  );
}

/** Whether the webhook sends: people may switch it off, and the service disables one that always fails. */
export function WebhookState({ webhook: { is_active, disabled_reason } }: { webhook: Webhook }) {
  if (is_active) return <Badge state="on" />;
  return disabled_reason === null ? <Badge state="off" /> : <Badge state="failed" label="disabled" />;
}

const NONE: RecentDeliveries = { succeeded: 0, failed: 0, retried: 0 };

function recentText({ succeeded, failed, retried }: RecentDeliveries = NONE): string {
  const ended = succeeded + failed;
  const noun = ended > 0 ? 'more' : retried === 1 ? 'delivery' : 'deliveries';
  const waiting = retried > 0 ? `${retried} ${noun} failed and will be tried again` : null;
  if (ended === 0) return waiting ?? 'Nothing was delivered yet';
  return [endedText(ended, failed), waiting].filter((text) => text !== null).join('; ');
}

function endedText(ended: number, failed: number): string {
  if (failed === 0) return ended === 1 ? 'The last delivery succeeded' : `The last ${ended} deliveries succeeded`;
  return `${failed} of the last ${ended} deliveries failed`;
}
