import { withPrefix } from '../../../lib/typeid';
import { isWithdrawn } from '../../../permissions/permission';
import type { DispatchContext } from '../../context';
import type { DueDelivery } from '../../deliveries/due';
import {
  type ClaimedReceiver,
  GONE,
  NOT_KEPT,
  type RequestAttempt,
  type Sender,
} from '../../sender';
import { isAsking, isEnd, isOfAccount } from '../channel';
import { readAccountMessage, readDisabledWebhook, readMessage, readPermission } from '../message';
import { describeError, readDeliveryAnswer, slackHeaders, slackUrl } from './api';
import type { SlackMessage } from './blocks';
import { slackChannelsOf } from './config';
import { AS_WRITTEN, canDecideInSlack, permissionMessage, settledMessage } from './message';
import { openSecrets } from './secrets';
import {
  accountMessage,
  digestMessage,
  testMessage,
  webhookDisabledMessage,
} from './service-messages';

const UNREADABLE =
  'The secrets of the Slack app can no longer be read. Set `bot_token` and `signing_secret` again.';
const ENDED = 'The request ended before the message was sent.';
const NEVER_POSTED = 'No message about the request was posted, so there is none to update.';
const TOO_MANY =
  'The Slack channel gets at most 20 messages within a minute. This one waits for the next minute.';
const NOT_NAMED = 'The channel no longer names this Slack channel.';

/** Opens the sender of a channel for Slack, for the worker that has claimed it. */
export async function openSlackSender(
  { shard, config: { keyring, publicUrl }, limits }: DispatchContext,
  { receiver: channel }: ClaimedReceiver,
): Promise<Sender> {
  const secrets = await openSecrets(keyring, channel);
  const named = new Set(slackChannelsOf(channel).map(({ id }) => id));
  const account = { shard, number: channel.account };
  return {
    openDuration: 0,
    goneStatuses: [GONE],
    divide: (deliveries) =>
      divideByChannel(deliveries, (delivery) => isPost(decideCalls(channel, delivery, named))),
    prepare: async (deliveries) => {
      const [delivery, ...others] = deliveries;
      if (!delivery) throw new Error('There is nothing to send');
      const calls = decideCalls(channel, delivery, named);
      if (typeof calls === 'string') return { kind: 'dropped', reason: calls };
      if (!secrets) return { kind: 'refused', error: UNREADABLE };
      const [call] = calls;
      const isLimited = isPost(calls) && !isOfAccount(delivery.event);
      const until = isLimited && call ? await limits.countPost(account, call.channel) : null;
      if (until !== null) return { kind: 'postponed', until, reason: TOO_MANY };
      if (call && others.length > 0) {
        const message = digestMessage(deliveries, `${publicUrl}/console`);
        // Its place is not recorded: the end of one request must not replace what is said about the
        // others.
        return {
          kind: 'requests',
          requests: [withoutSlackMessage(requestOf(secrets.botToken, call, message))],
        };
      }
      const message = compose(channel, delivery, publicUrl);
      const requests = calls.map((each) => requestOf(secrets.botToken, each, message));
      return { kind: 'requests', requests };
    },
  };
}

/**
 * Divides due deliveries into messages: one for those of a digest in a Slack channel, and one for
 * each of the others.
 * @param isPosted whether a delivery posts a new message
 */
function divideByChannel(
  deliveries: readonly DueDelivery[],
  isPosted: (delivery: DueDelivery) => boolean,
): DueDelivery[][] {
  const isForDigest = (delivery: DueDelivery) =>
    delivery.digestGroup !== null && isPosted(delivery);
  const digests = Map.groupBy(
    deliveries.filter(isForDigest),
    ({ slackChannel, digestGroup }) => `${slackChannel} ${digestGroup}`,
  );
  const single = deliveries.filter((delivery) => !isForDigest(delivery));
  return [...single.map((delivery) => [delivery]), ...digests.values()];
}

/** Whether calls post a new message. Changes of messages are not limited. */
function isPost(calls: Call[] | string): boolean {
  return typeof calls !== 'string' && calls.some(({ method }) => method === 'chat.postMessage');
}

/** A new message, or a change of one about the same request. */
type Call =
  | { method: 'chat.postMessage'; channel: string }
  | { method: 'chat.update'; channel: string; ts: string };

/**
 * Decides whether a delivery posts a message or changes those about the same request. Returns in
 * words why it does neither.
 *
 * The end of a request changes the messages that asked, even if the channel does not name that
 * event. If there is none, the end is posted only if the channel names the event and the agent did
 * not withdraw the request. A message that is still to be sent counts as none: it would come too
 * late and is dropped.
 */
function decideCalls(
  { events }: ClaimedReceiver['receiver'],
  delivery: DueDelivery,
  named: ReadonlySet<string>,
): Call[] | string {
  const { event, slackChannel, payload, eventPayload, permissionState, slackMessages } = delivery;
  if (payload === null && eventPayload === null) return NOT_KEPT;
  if (isEnd(event) && slackMessages.length > 0) return slackMessages.map(updateOf);
  if (isEnd(event) && (!events.includes(event) || isWithdrawn(readPermission(delivery))))
    return NEVER_POSTED;
  if (isAsking(event) && !permissionState?.isPending) return ENDED;
  if (slackChannel === null || !named.has(slackChannel)) return NOT_NAMED;
  return [{ method: 'chat.postMessage', channel: slackChannel }];
}

function updateOf(slackMessage: string): Call {
  const [channel = '', ts = ''] = slackMessage.split(':');
  return { method: 'chat.update', channel, ts };
}

function compose(
  channel: ClaimedReceiver['receiver'],
  delivery: DueDelivery,
  publicUrl: string,
): SlackMessage {
  switch (delivery.event) {
    case 'webhook.test': {
      const url = `${publicUrl}/console/channels/${withPrefix('chan', channel.id)}`;
      return testMessage({ channelName: channel.name ?? '', url });
    }
    case 'webhook.disabled': {
      const webhook = readDisabledWebhook(delivery);
      return webhookDisabledMessage({
        webhook,
        url: `${publicUrl}/console/webhooks/${webhook.id}`,
      });
    }
    case 'account.stopped':
    case 'account.resumed':
      return accountMessage(readAccountMessage(delivery), `${publicUrl}/console`);
    default: {
      const message = readMessage(delivery, publicUrl);
      const { event, permission } = message;
      if (isAsking(event)) {
        return permissionMessage(message, { canDecide: canDecideInSlack(permission) });
      }
      return settledMessage(message, { via: permission.review?.votes?.at(-1)?.via ?? null });
    }
  }
}

function withoutSlackMessage({ judge, ...request }: RequestAttempt): RequestAttempt {
  return {
    ...request,
    judge: (answer) => ({ error: judge?.(answer).error ?? null, slackMessage: null }),
  };
}

function requestOf(
  botToken: string,
  { method, ...place }: Call,
  message: SlackMessage,
): RequestAttempt {
  return {
    url: slackUrl(method),
    headers: slackHeaders(botToken),
    body: JSON.stringify({ ...place, ...message, ...AS_WRITTEN }),
    judge: ({ status, error, text }) => {
      if (status === 429) return { error: describeError('ratelimited'), slackMessage: null };
      if (error !== null) return { error, slackMessage: null };
      return readDeliveryAnswer(text);
    },
  };
}
