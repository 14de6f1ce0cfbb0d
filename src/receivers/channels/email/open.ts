import { toHex } from '../../../lib/bytes';
import { timeOfId, withPrefix } from '../../../lib/typeid';
import type { DispatchContext } from '../../context';
import type { DueDelivery } from '../../deliveries/due';
import { type ClaimedReceiver, GONE, NOT_KEPT, type Sender } from '../../sender';
import { isOfAccount } from '../channel';
import { divideByPerson, reasonNotToAsk } from '../due-messages';
import { readAccountMessage, readDisabledWebhook, readMessage } from '../message';
import { composePermissionMail } from './compose';
import { composeDigest } from './compose-digest';
import type { Mail, MailRecipient } from './mail';
import { composeAccountMail, composeTestMail, composeWebhookDisabledMail } from './service-mails';
import { prepareMail } from './transport';
import { safeRecipient } from './written';

const NO_MEMBER =
  'Mails go to members only. Send the test with a credential of a member who has confirmed the ' +
  'e-mail address.';
const NO_MAIL =
  'This service has no mail set up. Its operator has to set EMAIL_FROM, and the binding EMAIL or ' +
  'the secret RESEND_API_KEY.';

const TOO_MANY =
  'The recipient gets at most five mails within a minute, over all accounts. This one waits for ' +
  'the next minute.';

/** Opens the sender of a channel for e-mail, for the worker that has claimed it. */
export async function openEmailSender(
  { config, limits }: DispatchContext,
  claimed: ClaimedReceiver,
): Promise<Sender> {
  const { mail: transport, publicUrl } = config;
  return {
    openDuration: 0,
    goneStatuses: [GONE],
    divide: (deliveries) => divideByPerson(deliveries, dropReason),
    prepare: async (deliveries) => {
      const reason = deliveries.map(dropReason).find((found) => found !== null);
      if (reason) return { kind: 'dropped', reason };
      if (!transport) return { kind: 'refused', error: NO_MAIL };
      const { mail, key } = await compose(claimed, deliveries, publicUrl);
      const attempt = prepareMail(transport, mail, key);
      if (attempt.kind === 'refused') return attempt;
      const isUrgent = deliveries.every(({ event }) => isOfAccount(event));
      const until = isUrgent ? null : await limits.countMail(mail.to.address);
      if (until !== null) return { kind: 'postponed', until, reason: TOO_MANY };
      return attempt;
    },
  };
}

/** Why a message is not sent any more; null if it is. */
function dropReason(delivery: DueDelivery): string | null {
  const { member, recipient, eventPayload, payload } = delivery;
  if (member === null) return NO_MEMBER;
  if (!recipient?.isActive) return 'The recipient is no longer an active member.';
  if (!recipient.email) return 'The recipient has no e-mail address.';
  if (!recipient.isProven) return 'The recipient has not confirmed the e-mail address.';
  if (eventPayload === null && payload === null) return NOT_KEPT;
  return reasonNotToAsk(delivery);
}

/**
 * Composes the mail for deliveries to one person, and the key by which a mail service recognizes it
 * when it is sent again. The mail says how much time is left from when it was made, so that it is
 * the same at each attempt.
 */
async function compose(
  { receiver: channel }: ClaimedReceiver,
  deliveries: readonly DueDelivery[],
  publicUrl: string,
): Promise<{ mail: Mail; key: string }> {
  const [delivery] = deliveries;
  if (!delivery) throw new Error('There is nothing to send');
  const { recipient } = delivery;
  const to = safeRecipient({ address: recipient?.email ?? '', name: recipient?.name ?? null });
  if (deliveries.length > 1) {
    const times = deliveries.map(({ id }) => timeOfId(id));
    const messages = deliveries.map((each) => readMessage(each, publicUrl));
    const ids = new TextEncoder().encode(deliveries.map(({ id }) => id).join());
    const key = `digest-${toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', ids)))}`;
    return { mail: composeDigest(messages, to, `${publicUrl}/console`, Math.max(...times)), key };
  }
  return { mail: composeOne(channel, delivery, to, publicUrl), key: delivery.id };
}

function composeOne(
  channel: ClaimedReceiver['receiver'],
  delivery: DueDelivery,
  to: MailRecipient,
  publicUrl: string,
): Mail {
  switch (delivery.event) {
    case 'webhook.test': {
      const url = `${publicUrl}/console/channels/${withPrefix('chan', channel.id)}`;
      return composeTestMail(to, { channelName: channel.name ?? '', url });
    }
    case 'webhook.disabled': {
      const webhook = readDisabledWebhook(delivery);
      return composeWebhookDisabledMail(to, {
        webhook,
        url: `${publicUrl}/console/webhooks/${webhook.id}`,
      });
    }
    case 'account.stopped':
    case 'account.resumed':
      return composeAccountMail(to, {
        message: readAccountMessage(delivery),
        url: `${publicUrl}/console`,
      });
    default:
      return composePermissionMail(readMessage(delivery, publicUrl), to, timeOfId(delivery.id));
  }
}
