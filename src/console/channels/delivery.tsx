import type { Child } from 'hono/jsx';
import { listAuditEntries } from '../../audit/list';
import type { Reader, RequestContext, UserContext } from '../../http/context';
import type { CallerSql } from '../../identity/credentials';
import { isJsonObject, type JsonObject } from '../../lib/json';
import type { Id } from '../../lib/typeid';
import {
  isAsking,
  preloadChannel,
  presentChannel,
  requireChannel,
} from '../../receivers/channels/channel';
import { preloadChannelDelivery } from '../../receivers/channels/deliveries/delivery';
import { getChannelDelivery } from '../../receivers/channels/deliveries/get';
import { redeliverByChannel } from '../../receivers/channels/deliveries/redeliver';
import { requireRow } from '../../receivers/receiver';
import { type Refusal, refusalOf } from '../frame/form';
import { loadNames } from '../frame/names';
import { Written } from '../parts/inline';
import { RequestTitle } from '../parts/request';
import { RepeatAction, sendDeliveryPage } from '../receivers/delivery';
import type { PreloadedContext } from '../session/access';
import { redirectWithFlash } from '../session/flash';
import { canSendBy, KindNotice, Recipient } from './kinds';

/** Preloads what a delivery's page needs: the delivery in the path with its channel. */
export async function preloadDeliveryWithChannel(
  c: RequestContext,
  reader: Reader,
  caller: CallerSql,
) {
  return {
    ...(await preloadChannelDelivery(c, reader, caller)),
    ...(await preloadChannel(c, reader, caller)),
  };
}

type DeliveryContext = PreloadedContext<typeof preloadDeliveryWithChannel>;

/**
 * Shows a delivery by a channel: to whom, and about which request.
 * @param refusal why the redelivery in this request was refused
 */
export async function showChannelDelivery(
  c: DeliveryContext,
  refusal?: Refusal,
): Promise<Response> {
  const { context } = c.var.signedIn;
  const { scopes } = context.principal;
  const row = requireRow(c.var.loaded.delivery, 'delivery');
  const channel = presentChannel(requireChannel(c.var.loaded.channel));
  const delivery = getChannelDelivery(context, { delivery: row });
  const { permission_id, member_id, slack_channel, payload } = delivery;
  const [names, hasEnded] = await Promise.all([
    loadNames(context, ['people']),
    isKnownToHaveEnded(context, permission_id),
  ]);
  const request = payload && isJsonObject(payload.data) ? payload.data : {};
  const isOver =
    hasEnded ||
    (typeof request.expires_at === 'string' &&
      Date.parse(request.expires_at) <= context.runtime.now());
  const path = `/console/channels/${channel.id}`;
  const repeat = () => {
    if (isAsking(delivery.event) && isOver) {
      return (
        <p class="hint">
          The request no longer waits for a decision, so this message is not sent again.
        </p>
      );
    }
    if (!channel.is_active)
      return <p class="hint">To send it again, switch the channel on first.</p>;
    if (!canSendBy(channel.kind, context.config)) return null;
    return <RepeatAction path={path} id={delivery.id} />;
  };
  return sendDeliveryPage(c, {
    delivery,
    path,
    names,
    refusal,
    receiver: ['channel “', <Written text={channel.name} />, '”'],
    facts: [
      ['To', <Recipient member={member_id} slackChannel={slack_channel} />],
      permission_id !== null && ['About', <RequestLink id={permission_id} request={request} />],
    ],
    notice: <KindNotice kind={channel.kind} config={context.config} />,
    repeat: scopes.includes('channels:write') && repeat(),
    payloadTitle: 'Its event',
    children: permission_id !== null && (
      <p class="hint">
        The message says this in words, and links to the request. To open the link, one has to sign
        in. The arguments and the preview of the agent are never sent.
      </p>
    ),
  });
}

/** Whether the log says that a request has ended; false for callers who may not read it. */
async function isKnownToHaveEnded(context: UserContext, id: Id<'perm'> | null): Promise<boolean> {
  if (id === null || !context.principal.scopes.includes('audit:read')) return false;
  const query = { permission_id: id, order: 'desc', limit: 1 } as const;
  const { data } = await listAuditEntries(context, query);
  return data.some(({ event_type }) => event_type !== 'request');
}

/** A link to the card of a request, called as the message calls it. */
function RequestLink({
  id,
  request: { title, action, resource, connection_id },
}: {
  id: string;
  request: JsonObject;
}): Child {
  const isNamed = typeof action === 'string' && typeof resource === 'string';
  return (
    <a href={`/console/permissions/${id}`}>
      <RequestTitle
        title={typeof title === 'string' ? title : null}
        otherwise={isNamed ? `${action} on ${resource}` : 'The request'}
        isOfConnection={typeof connection_id === 'string'}
      />
    </a>
  );
}

/** Sends the message of the delivery in the path again, and shows the new delivery. */
export async function sendMessageAgain(c: DeliveryContext): Promise<Response> {
  const delivery = requireRow(c.var.loaded.delivery, 'delivery');
  try {
    const again = await redeliverByChannel(c.var.signedIn.context, { delivery });
    return redirectWithFlash(
      c,
      `/console/channels/${again.channel_id}/deliveries/${again.id}`,
      'sent',
    );
  } catch (error) {
    return showChannelDelivery(c, refusalOf(error));
  }
}
