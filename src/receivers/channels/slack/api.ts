import type { Runtime } from '../../../env';
import { isJsonObject, type JsonObject } from '../../../lib/json';
import { SECOND } from '../../../lib/time';
import { untilAborted } from '../../../lib/until-aborted';

const API = 'https://slack.com/api/';

/**
 * Slack's own deadline for the answer to a click, and for the use of its `trigger_id`, is 3
 * seconds.
 */
const REQUEST_TIMEOUT = 2.5 * SECOND;

export type SlackAnswer = ({ ok: true } & JsonObject) | SlackFailure;

export interface SlackFailure {
  ok: false;
  /** Slack's error code; or `timeout`, `connection_failed`, `invalid_answer` or `http_<status>`. */
  error: string;
}

/** The headers of a call of Slack's API. */
export function slackHeaders(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json; charset=utf-8' };
}

/** The address of a method of Slack's API. */
export function slackUrl(method: string): string {
  return API + method;
}

/**
 * Calls a method of Slack's API, such as `views.open`. Whatever happens is an answer, and never an
 * exception. No answer within 2.5 seconds is a failure, although Slack may have done what was
 * asked.
 */
export function callSlack(
  runtime: Runtime,
  token: string,
  method: string,
  body: object,
): Promise<SlackAnswer> {
  return send(runtime, method, slackHeaders(token), JSON.stringify(body));
}

/** The same for a method that reads, such as `users.info`: these take forms, and ignore JSON. */
export function readSlack(
  runtime: Runtime,
  token: string,
  method: string,
  parameters: Record<string, string>,
): Promise<SlackAnswer> {
  const headers = { ...slackHeaders(token), 'Content-Type': 'application/x-www-form-urlencoded' };
  return send(runtime, method, headers, String(new URLSearchParams(parameters)));
}

async function send(
  runtime: Runtime,
  method: string,
  headers: Record<string, string>,
  body: string,
): Promise<SlackAnswer> {
  const signal = runtime.timeout(REQUEST_TIMEOUT);
  try {
    const request = runtime.fetch(slackUrl(method), {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal,
    });
    return await untilAborted(signal, request.then(readAnswer));
  } catch {
    return failure(signal.aborted ? 'timeout' : 'connection_failed');
  }
}

async function readAnswer(response: Response): Promise<SlackAnswer> {
  const answer = parse(await response.text());
  if (answer?.ok === false) return failure(codeOf(answer));
  if (response.status === 429) return failure('ratelimited');
  if (!response.ok) return failure(`http_${response.status}`);
  if (answer?.ok !== true) return failure('invalid_answer');
  return { ...answer, ok: true };
}

function failure(error: string): SlackFailure {
  return { ok: false, error };
}

function parse(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Slack's error code, if it has the form of one: what it says is shown to people. */
function codeOf({ error }: JsonObject): string {
  if (typeof error !== 'string' || !/^[a-z0-9_.-]{1,80}$/i.test(error)) return 'unknown_error';
  return error;
}

/** How the request of a delivery ended. */
export interface DeliveryAnswer {
  /** Why the message was not sent, in plain words; null if it was. */
  error: string | null;
  /**
   * Where the message is: `<channel>:<ts>`, by which it can be updated. Null if it was not sent.
   */
  slackMessage: string | null;
}

/** The start of the answer to a posted or updated message. */
const SENT = /^\s*\{"ok":\s*true,\s*"channel":\s*"(?<channel>\w+)",\s*"ts":\s*"(?<ts>\d+\.\d+)"/;

/**
 * Reads Slack's answer to `chat.postMessage` or `chat.update`. Slack answers 200 also if it
 * refuses, and repeats the whole message after its place: an answer that was cut off is read too.
 * If people deleted the message that was to be changed, nothing is left to do: that is no error.
 */
export function readDeliveryAnswer(body: string): DeliveryAnswer {
  const answer = parse(body);
  if (answer?.ok === false) {
    const code = codeOf(answer);
    if (code === 'message_not_found') return { error: null, slackMessage: null };
    return { error: describeError(code), slackMessage: null };
  }
  const { channel, ts } = answer ?? SENT.exec(body)?.groups ?? {};
  if (typeof channel !== 'string' || typeof ts !== 'string') {
    return { error: "Slack's answer cannot be read.", slackMessage: null };
  }
  return { error: null, slackMessage: `${channel}:${ts}` };
}

const ERRORS: Record<string, string> = {
  account_inactive: 'The app was removed from the workspace.',
  cant_update_message: 'The app may not change the message.',
  channel_not_found: 'There is no such channel, or the app cannot see it.',
  invalid_auth: 'The bot token is not valid.',
  is_archived: 'The channel is archived.',
  missing_scope: 'The app lacks a scope that it needs.',
  msg_too_long: 'The message is too long.',
  not_in_channel: 'The app is not a member of the channel. Invite it there.',
  ratelimited: 'Slack got too many messages in a short time.',
  token_expired: 'The bot token has expired.',
  token_revoked: 'The bot token was revoked.',
};

/** Says in plain words what an error code of {@link callSlack} or of Slack means. */
export function describeError(code: string): string {
  const known = Object.hasOwn(ERRORS, code) ? ERRORS[code] : 'Slack refused the message.';
  return `${known} (Slack: ${code})`;
}
