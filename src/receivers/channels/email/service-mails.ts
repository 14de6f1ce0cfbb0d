import { utcText } from '../../../lib/time';
import { ACCOUNT_EFFECTS, type AccountMessage, type DisabledWebhook } from '../message';
import { SIGN_IN } from './compose';
import type { Block, Fact } from './document';
import type { Mail, MailRecipient } from './mail';
import { renderMail } from './render';
import { MAX_LINE, MAX_TEXT, quoteForSubject, writtenLine, writtenLines } from './written';

/**
 * Composes the mail with which a member confirms an e-mail address. It has no words but those of
 * this program: the address may be that of somebody who does not know the account.
 */
export function composeConfirmationMail(address: string, url: string): Mail {
  return renderMail(
    {
      subject: 'Confirm your e-mail address',
      heading: 'Confirm your e-mail address',
      blocks: [
        {
          kind: 'paragraph',
          text:
            'Somebody who is signed in to Countersign wants to get notifications at this address. ' +
            'If this is you, open the link and confirm.',
        },
        {
          kind: 'paragraph',
          text: 'If it is not you, ignore this mail. Nothing else is sent to this address.',
        },
      ],
      link: { label: 'Confirm', url },
      note:
        'The link works for 24 hours, and only for the person who asked. Opening it changes ' +
        'nothing.',
    },
    { address, name: null },
  );
}

/** Composes the mail with which a person tries out a channel. */
export function composeTestMail(
  to: MailRecipient,
  { channelName, url }: { channelName: string; url: string },
): Mail {
  return renderMail(
    {
      // Fixed words: a person who tests a channel must not choose the subject of a mail.
      subject: 'Test of a channel',
      heading: 'This is a test',
      blocks: [
        {
          kind: 'paragraph',
          text: 'The channel works: mails to you arrive. Nobody waits for a decision.',
        },
        {
          kind: 'facts',
          rows: [{ label: 'Channel', value: [writtenLine(channelName, MAX_LINE)] }],
        },
      ],
      link: { label: 'Open Countersign', url },
      note: SIGN_IN,
    },
    to,
  );
}

/**
 * Composes the mail that says that the service disabled a webhook.
 * @param url the address of the webhook's page in the console
 */
export function composeWebhookDisabledMail(
  to: MailRecipient,
  { webhook, url }: { webhook: DisabledWebhook; url: string },
): Mail {
  const host = URL.parse(webhook.url)?.host ?? webhook.url;
  const rows: Fact[] = [
    { label: 'URL', value: [writtenLine(webhook.url, MAX_TEXT)] },
    { label: 'Why', value: [writtenLine(webhook.disabled_reason, MAX_TEXT)] },
  ];
  return renderMail(
    {
      subject: `Webhook disabled: ${quoteForSubject(host, 60)}`,
      heading: 'A webhook was disabled',
      blocks: [
        { kind: 'facts', rows },
        {
          kind: 'paragraph',
          text:
            'Nothing is sent to it, and events of this time will not be sent later. When its ' +
            'receiver works again, enable the webhook.',
        },
      ],
      link: { label: 'Open the webhook', url },
      note: SIGN_IN,
    },
    to,
  );
}

/**
 * Composes the mail that says that somebody stopped or resumed the account.
 * @param url the address of the console
 */
export function composeAccountMail(
  to: MailRecipient,
  { message: { event, at, by, reason }, url }: { message: AccountMessage; url: string },
): Mail {
  const isStop = event === 'account.stopped';
  const blocks: Block[] = [
    { kind: 'paragraph', text: ACCOUNT_EFFECTS[event] },
    {
      kind: 'facts',
      rows: [
        { label: isStop ? 'Stopped by' : 'Resumed by', value: [writtenLine(by, MAX_LINE)] },
        { label: 'When', value: [utcText(at)] },
      ],
    },
  ];
  if (reason !== null)
    blocks.push({ kind: 'quote', label: 'Why', lines: writtenLines(reason, MAX_TEXT) });
  const heading = isStop ? 'All agents are stopped' : 'The agents may go on';
  return renderMail(
    { subject: heading, heading, blocks, link: { label: 'Open Countersign', url }, note: SIGN_IN },
    to,
  );
}
