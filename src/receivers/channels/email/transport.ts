import type { MailTransport } from '../../../env';
import { isJsonObject, type JsonObject } from '../../../lib/json';
import { parseMailbox } from '../../../lib/mailbox';
import { shorten } from '../../../lib/text';
import type { PreparedAttempt, RequestAttempt } from '../../sender';
import type { Mail, MailRecipient } from './mail';

const RESEND_URL = 'https://api.resend.com/emails';
/** Resend refuses requests without a user agent. */
const USER_AGENT = 'Countersign-Mail/1.0';
/** Maximum number of characters of an idempotency key. */
const MAX_KEY = 256;

/**
 * Prepares a mail for its transport.
 *
 * Resend sends a mail once for each idempotency key within 24 hours. It answers 409 if the same key
 * comes with another body, so each attempt must have the same mail. The binding knows no such key:
 * a retry after a lost answer can send the mail twice.
 * @param idempotencyKey identifies the mail: 1 to 256 characters of ASCII
 */
export function prepareMail(
  transport: MailTransport,
  mail: Mail,
  idempotencyKey: string,
): PreparedAttempt {
  // An identity provider may have given any text as the address, such as a list of two.
  if (parseMailbox(mail.to.address)?.name !== null) {
    return { kind: 'refused', error: 'The address of the recipient is not valid.' };
  }
  if (transport.kind === 'resend') return prepareRequest(transport, mail, idempotencyKey);
  return { kind: 'call', call: () => sendByBinding(transport, mail) };
}

/** A request to https://resend.com/docs/api-reference/emails/send-email */
function prepareRequest(
  { apiKey, from }: Extract<MailTransport, { kind: 'resend' }>,
  { to, subject, text, html }: Mail,
  idempotencyKey: string,
): PreparedAttempt {
  if (!/^[\x21-\x7e]+$/.test(idempotencyKey) || idempotencyKey.length > MAX_KEY) {
    throw new Error('The idempotency key is not of 1 to 256 visible ASCII characters');
  }
  const headers = {
    Authorization: `Bearer ${apiKey}`,
    'Content-Type': 'application/json',
    'Idempotency-Key': idempotencyKey,
    'User-Agent': USER_AGENT,
  };
  const body = JSON.stringify({ from, to: [mailboxText(to)], subject, text, html });
  return { kind: 'requests', requests: [{ url: RESEND_URL, headers, body, judge: judgeAnswer }] };
}

/** Decides from the answer of Resend whether it took the mail. */
const judgeAnswer: NonNullable<RequestAttempt['judge']> = ({ status, error, text }) => {
  if (error === null) return { error, slackMessage: null };
  const { name, message } = parseProblem(text);
  // The mail was accepted under the same key before, and its answer was lost.
  if (status === 409 && name === 'invalid_idempotent_request')
    return { error: null, slackMessage: null };
  const detail = typeof message === 'string' ? `: ${shorten(message, 200)}` : '.';
  return { error: `The mail service answered ${status}${detail}`, slackMessage: null };
};

function parseProblem(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** The name of a recipient is an unquoted phrase: `safeRecipient` made it. */
function mailboxText({ name, address }: MailRecipient): string {
  if (name === null) return address;
  return `${name} <${address}>`;
}

/**
 * Calls https://developers.cloudflare.com/email-service/api/send-emails/workers-api/ with fields:
 * the service writes the MIME message, encodes the headers, and adds Date and Message-ID.
 */
async function sendByBinding(
  { binding, from }: Extract<MailTransport, { kind: 'binding' }>,
  { to, subject, text, html }: Mail,
): Promise<void> {
  const mailbox = parseMailbox(from);
  if (!mailbox) throw new Error('The sender is not an address');
  try {
    await binding.send({
      from: bindingAddress(mailbox),
      to: bindingAddress(to),
      subject,
      text,
      html,
    });
  } catch (failure) {
    throw new Error(describeFailure(failure), { cause: failure });
  }
}

function bindingAddress({ name, address }: MailRecipient): string | EmailAddress {
  if (name === null) return address;
  return { name, email: address };
}

/**
 * The codes of the service in words for those who see the delivery. Its own messages can quote
 * addresses.
 */
const FAILURES: Record<string, string> = {
  E_SENDER_NOT_VERIFIED:
    'The address in EMAIL_FROM may not send: its domain is not set up at the mail service.',
  E_SENDER_DOMAIN_NOT_AVAILABLE:
    'The address in EMAIL_FROM may not send: its domain is not set up at the mail service.',
  E_RECIPIENT_NOT_ALLOWED: 'The mail service may not send to this address.',
  E_RECIPIENT_SUPPRESSED:
    'Mails to this address bounced, or were reported as spam. The mail service sends it none.',
  E_RATE_LIMIT_EXCEEDED: 'The rate limit of the mail service is reached.',
  E_DAILY_LIMIT_EXCEEDED: 'The daily limit of the mail service is reached.',
  E_DELIVERY_FAILED: 'The mail server of the recipient refused the mail.',
};

function describeFailure(failure: unknown): string {
  const code = failure instanceof Error && 'code' in failure ? failure.code : undefined;
  if (typeof code !== 'string' || !/^E_[A-Z_]{1,40}$/.test(code)) return 'The mail service failed.';
  return FAILURES[code] ?? `The mail service failed with ${code}.`;
}
