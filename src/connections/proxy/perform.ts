import { Problem, unavailable } from '../../errors';
import type { AgentContext } from '../../http/context';
import { requireNotStopped } from '../../ledger/stop';
import { SECOND } from '../../lib/time';
import { type Id, withPrefix } from '../../lib/typeid';
import type { Rules } from '../../permissions/requests/weigh';
import { pauseAfter } from '../../permissions/wait';
import { assertLoaded } from '../../policies/policy';
import { credentialTexts } from '../auth';
import { forbidRetries, proxyAnswer } from './answer';
import { askForCall, type CallDraft, type CallProgress, draftCall } from './ask';
import { callName } from './call-name';
import { countRead } from './count-read';
import type { CallLookup } from './earlier-calls';
import {
  type IncomingCall,
  type ReadCall,
  readCall,
  requireCallableConnection,
} from './incoming-call';
import type { LoadedCall, OpenedCall } from './load-call';
import { type FoundAccount, recordOutcome } from './record-outcome';
import { type Sent, sendCall } from './send-call';
import { callStandingOf } from './standing';
import { takeOver } from './take-over';
import { takeUseForCall } from './take-use';
import type { UsedPermission } from './use-mark';

/** How often a call is read again because something changed meanwhile, before it is given up. */
const MAX_STALE_READS = 20;

/**
 * Performs a call of an agent: sends it if a rule allows it, or if it was approved, and otherwise
 * asks for permission and waits for the decision as long as the connection says.
 *
 * An approved call is sent at most once: its use is committed before, on the condition that the
 * account is not stopped, the agent is active, and the connection is as it was read.
 * @returns the answer of the other service
 * @throws Problem instead of any other answer
 */
export async function performCall(incoming: IncomingCall, opened: OpenedCall): Promise<Response> {
  const { runtime } = incoming;
  const startedAt = runtime.now();
  let { context, loaded } = opened;
  let read: ReadCall | null = null;
  let staleReads = 0;
  let waits = 0;
  while (staleReads < MAX_STALE_READS) {
    requireNotStopped(context.principal.account);
    const connection = requireCallableConnection(context, loaded);
    if (read?.connection.updatedAt !== connection.updatedAt)
      read = await readCall(incoming, context, connection);
    const { match } = read;
    if (match.effect === 'deny') {
      throw new Problem('connection_refused', 'No rule of the connection allows this call.');
    }
    if (match.effect === 'allow') return await sendAllowed(incoming, context, read);

    const draft = await draftCall(context, connection.id, read.call, match);
    const lookup = await lookupOf(read, draft);
    const progress = await takeStep(context, read, { loaded, draft, lookup, staleReads });
    if (progress.kind === 'used')
      return await sendAct(incoming, context, read, progress.permission);
    if (progress.kind === 'pending') {
      const left = startedAt + connection.wait * SECOND - runtime.now();
      if (left <= 0) throw stillPending(progress.id);
      await runtime.sleep(Math.min(pauseAfter(waits), left));
      waits++;
      // The agent may be calling again, and that call is to get the answer.
      if (incoming.request.signal.aborted) throw stillPending(progress.id);
    } else {
      staleReads++;
    }
    ({ context, loaded } = await incoming.reopen(lookup));
  }
  throw unavailable();
}

/** By what the earlier permission of a call is found. */
async function lookupOf({ call, connection }: ReadCall, { act }: CallDraft): Promise<CallLookup> {
  const { inputDigest } = act;
  if (call.key === null) return { name: await callName('input', inputDigest), takeover: null };
  return {
    name: await callName('key', call.key),
    takeover: { inputDigest, wait: connection.wait },
  };
}

/**
 * Looks at what a call leads to, and does the next thing: asks for permission, or takes the use of
 * the permission.
 * @throws Problem `idempotency_key_reuse`, and the problems of `callStandingOf` and `askForCall`
 */
async function takeStep(
  context: AgentContext,
  { connection, call }: ReadCall,
  {
    loaded,
    draft,
    lookup,
    staleReads,
  }: { loaded: LoadedCall; draft: CallDraft; lookup: CallLookup; staleReads: number },
): Promise<CallProgress> {
  const earlier = loaded.earlier?.[0];
  const hasKey = call.key !== null;
  if (earlier && hasKey && earlier.calledInputDigest !== draft.act.inputDigest) {
    throw new Problem(
      'idempotency_key_reuse',
      'The `Idempotency-Key` was already used for another call of this connection.',
    );
  }
  const takenOver = earlier ? undefined : loaded.takeover?.[0];
  if (takenOver) {
    await takeOver(context, {
      connection: connection.id,
      lookup,
      inputDigest: draft.act.inputDigest,
      permission: takenOver,
    });
    return { kind: 'changed' };
  }
  const { repeatAfter } = connection;
  const now = context.runtime.now();
  const standing = callStandingOf(earlier, { hasKey, repeatAfter, now });
  switch (standing.kind) {
    case 'pending':
      return { kind: 'pending', id: standing.row.id };
    case 'usable': {
      const permission = await takeUseForCall(context, connection, standing);
      return permission ? { kind: 'used', permission } : { kind: 'changed' };
    }
    case 'new':
      return await askForCall(context, {
        draft,
        rules: rulesOf(loaded),
        connection,
        lookup,
        previousPermission: standing.previousPermission,
        staleReads,
      });
  }
}

function rulesOf({ policies, liveSeries = [] }: LoadedCall): Rules {
  return { policies: assertLoaded(policies), liveSeries };
}

function stillPending(id: Id<'perm'>): Problem {
  return new Problem(
    'permission_pending',
    'Nobody has decided on this call yet. Repeat it later: it is sent once it is approved.',
    { members: { permission_id: id } },
  );
}

/** Sends a call that a rule allows without asking, and counts it. */
async function sendAllowed(
  incoming: IncomingCall,
  context: AgentContext,
  read: ReadCall,
): Promise<Response> {
  const sent = await send(incoming, context, read, null);
  incoming.waitUntil(countRead(context, read.connection.id));
  return answerWith(incoming, read, sent, null);
}

/** Sends a call whose use is taken, and records its outcome, also if the agent no longer waits. */
async function sendAct(
  incoming: IncomingCall,
  context: AgentContext,
  read: ReadCall,
  { id }: UsedPermission,
): Promise<Response> {
  const sending = send(incoming, context, read, id);
  const known = { database: incoming.database(), account: context.principal.account.number };
  const recording = sending.then(async ({ outcome }) => {
    await recordOutcome(
      { runtime: incoming.runtime, find: findAccount(incoming, known) },
      id,
      outcome,
    );
  });
  incoming.waitUntil(recording);
  return answerWith(incoming, read, await sending, id);
}

/** Returns what finds the account: where it was known to be, and then where its agent finds it. */
function findAccount(incoming: IncomingCall, known: FoundAccount): () => Promise<FoundAccount> {
  let isFirst = true;
  return async () => {
    if (isFirst) {
      isFirst = false;
      return known;
    }
    try {
      const { context } = await incoming.reopen(null);
      return { database: incoming.database(), account: context.principal.account.number };
    } catch {
      // The agent's key may have ended.
      return known;
    }
  };
}

/** Sends a call to the other service. */
function send(
  incoming: IncomingCall,
  { config }: AgentContext,
  { connection, secret, call }: ReadCall,
  permission: Id<'perm'> | null,
): Promise<Sent> {
  const recheck = async () => {
    const { context, loaded } = await incoming.reopen(null);
    requireNotStopped(context.principal.account);
    const { updatedAt } = requireCallableConnection(context, loaded);
    if (updatedAt !== connection.updatedAt)
      throw new Problem('connection_refused', 'The connection was changed meanwhile.');
  };
  return sendCall(call, {
    connection,
    secret,
    idempotencyKey: permission && withPrefix('token', permission),
    recheck,
    config,
    runtime: incoming.runtime,
    signal: incoming.request.signal,
  });
}

/**
 * Makes the answer of a call that was sent.
 * @throws Problem if there is no answer to pass on
 */
function answerWith(
  { proxyBase }: IncomingCall,
  { connection, secret }: ReadCall,
  sent: Sent,
  permission: Id<'perm'> | null,
): Response {
  if ('problem' in sent) throw sent.problem;
  const answer = proxyAnswer(sent.response, {
    baseUrl: connection.baseUrl,
    proxyBase,
    credential: credentialTexts(connection, secret),
    permission,
  });
  // The act is not sent again, so an SDK that tried again would only hide this answer.
  if (permission && sent.outcome.status === 'unknown') forbidRetries(answer.headers);
  return answer;
}
