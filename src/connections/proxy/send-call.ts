import type { Config, Runtime } from '../../env';
import { Problem } from '../../errors';
import { logFailure } from '../../lib/log';
import { SECOND } from '../../lib/time';
import { untilAborted } from '../../lib/until-aborted';
import { credentialHeader } from '../auth';
import { findCallFault } from '../callable';
import type { ConnectionRow } from '../connection';
import type { ParsedCall } from './parse-call';
import type { ActOutcome } from './record-outcome';

const USER_AGENT = 'Countersign-Connections/1.0';
/** Answers that tell a client to do the same elsewhere, or that the request was not performed. */
const REDIRECTS_OF_THE_SAME = [307, 308];
/** Client errors after which the act may have happened all the same. */
const UNCERTAIN_CLIENT_ERRORS = [408, 409];
const TOO_MANY_REQUESTS = 429;
/** The shortest pause before a call is sent again, in milliseconds. */
const MIN_PAUSE = SECOND;

/** The result of sending a call, and the outcome of the act as far as it is known. */
export type Sent = { outcome: ActOutcome } & (
  | { response: Response }
  /** There is no answer to pass on. */
  | { problem: Problem }
);

interface Sending {
  connection: ConnectionRow;
  /** The credential; null if the connection has none. */
  secret: string | null;
  /** The name of the act for the other service; null for a call that is no act. */
  idempotencyKey: string | null;
  config: Config;
  /** A running clock. */
  runtime: Runtime;
  /** Aborted when the agent goes away. */
  signal: AbortSignal;
  /** Throws a Problem if the call may no longer be sent. */
  recheck: () => Promise<void>;
}

/**
 * Sends a call to the other service and waits for the head of the answer, at most as long as the
 * connection says. Follows no redirect. An answer 429 means that nothing was done: the call is sent
 * again after its `Retry-After`, if that is in time and {@link Sending.recheck} allows it.
 *
 * Whatever happens is the result: this never rejects.
 */
export async function sendCall(call: ParsedCall, sending: Sending): Promise<Sent> {
  const { connection, config, runtime, recheck } = sending;
  const fault = await findCallFault({ config, runtime }, connection.baseUrl);
  if (fault !== null)
    return notSent(new Problem('connection_failed', `${fault} Nothing was sent.`));
  const deadline = runtime.now() + connection.timeout * SECOND;
  for (;;) {
    const sent = await sendOnce(call, sending, deadline);
    const pause = 'response' in sent ? retryPause(sent.response, runtime.now()) : null;
    if (pause === null || runtime.now() + pause >= deadline) return sent;
    if ('response' in sent) await sent.response.body?.cancel();
    await runtime.sleep(pause);
    try {
      await recheck();
    } catch (error) {
      if (error instanceof Problem) return notSent(error);
      logFailure('call_not_rechecked', error);
      return notSent(new Problem('unavailable', 'The service cannot check this call right now.'));
    }
  }
}

/** Nothing was sent, or the other service did nothing with it. */
function notSent(problem: Problem): Sent {
  return { problem, outcome: { status: 'failed', summary: problem.detail } };
}

async function sendOnce(
  { method, url, headers, body }: ParsedCall,
  { connection, secret, idempotencyKey, runtime, signal }: Sending,
  deadline: number,
): Promise<Sent> {
  const sentHeaders = new Headers(headers);
  if (!sentHeaders.has('User-Agent')) sentHeaders.set('User-Agent', USER_AGENT);
  if (idempotencyKey !== null) sentHeaders.set('Idempotency-Key', idempotencyKey);
  const credential = credentialHeader(connection, secret);
  if (credential) sentHeaders.set(credential.name, credential.value);
  // Only the head has to come in time: the body may be a stream that lasts.
  const stop = new AbortController();
  const leave = () => stop.abort();
  signal.addEventListener('abort', leave);
  if (signal.aborted) leave();
  const timeout = runtime.timeout(Math.max(1, deadline - runtime.now()));
  try {
    const fetching = runtime.fetch(url, {
      method,
      headers: sentHeaders,
      body,
      redirect: 'manual',
      signal: stop.signal,
    });
    const response = await untilAborted(timeout, untilAborted(stop.signal, fetching));
    return judge(response);
  } catch {
    const reason = reasonOf({ hasLeft: signal.aborted, isLate: timeout.aborted });
    stop.abort();
    return lost(reason, connection.timeout);
  }
}

/** Judges from the head of an answer whether the act happened. */
function judge(response: Response): Sent {
  const { status } = response;
  // No answer may have another status (RFC 9110 section 15).
  if (status < 200 || status > 599) return lost('failure', 0);
  const outcome = { status: statusOf(status), summary: `The other service answered ${status}.` };
  if (status !== 401) return { response, outcome };
  response.body?.cancel().catch(() => undefined);
  const problem = new Problem(
    'connection_unauthorized',
    'The other service refused the credential of the connection. Its owner has to set it again.',
  );
  return { problem, outcome };
}

function statusOf(status: number): ActOutcome['status'] {
  if (status >= 200 && status < 300) return 'succeeded';
  if (status === 304) return 'succeeded';
  if (REDIRECTS_OF_THE_SAME.includes(status)) return 'failed';
  const isClientError = status >= 400 && status < 500;
  return isClientError && !UNCERTAIN_CLIENT_ERRORS.includes(status) ? 'failed' : 'unknown';
}

/** Why no answer came: the agent went away, the time was over, or the connection failed. */
type Loss = 'left' | 'late' | 'failure';

function reasonOf({ hasLeft, isLate }: { hasLeft: boolean; isLate: boolean }): Loss {
  if (hasLeft) return 'left';
  return isLate ? 'late' : 'failure';
}

/**
 * The result if no answer came: it is not known whether the act happened.
 * @param timeout in seconds
 */
function lost(reason: Loss, timeout: number): Sent {
  const problem = problemOfLoss(reason, timeout);
  return { problem, outcome: { status: 'unknown', summary: problem.detail } };
}

function problemOfLoss(reason: Loss, timeout: number): Problem {
  const arrived = 'The request may have arrived.';
  switch (reason) {
    case 'left':
      return new Problem('connection_failed', `The agent did not wait for the answer. ${arrived}`);
    case 'late':
      return new Problem(
        'connection_timeout',
        `The other service did not answer within ${timeout} seconds. ${arrived}`,
      );
    case 'failure':
      return new Problem(
        'connection_failed',
        `The connection to the other service failed. ${arrived}`,
      );
  }
}

/**
 * The pause that an answer 429 asks for (RFC 9110 section 10.2.3), in milliseconds; null for
 * another answer, or if it asks for none.
 */
function retryPause(response: Response, now: number): number | null {
  if (response.status !== TOO_MANY_REQUESTS) return null;
  const text = response.headers.get('Retry-After') ?? '';
  if (/^\d{1,9}$/.test(text)) return Math.max(MIN_PAUSE, Number(text) * SECOND);
  const time = Date.parse(text);
  if (!text.endsWith(' GMT') || Number.isNaN(time)) return null;
  return Math.max(MIN_PAUSE, time - now);
}
