import type { Authentication } from '../identity/authentication';
import { Ledger } from '../ledger/ledger';
import type { AnswerStore } from '../ledger/stored-answer';
import type { LogFields } from '../lib/log';
import { enqueueMessage } from '../outbox/enqueue';
import {
  type AppEnv,
  type Context,
  type Principal,
  type RequestContext,
  withFixedClock,
} from './context';

/** An authenticated caller, and the database of their account. */
export interface Caller<P extends Principal>
  extends Pick<Authentication, 'reference' | 'database'> {
  principal: P;
}

/** The parts of Hono's context of a request that has a caller. */
export type CallerRequest = RequestContext & {
  executionCtx: { waitUntil(work: Promise<unknown>): void };
  set<N extends 'caller' | 'database'>(name: N, value: AppEnv['Variables'][N]): void;
};

/**
 * Opens the context in which an authenticated caller acts. Each write checks the credential again,
 * and notifies the receivers of its events. The uses of the credential that were found on the way
 * are recorded at the latest when the request ends.
 * @param answers stores the answer to the request for its idempotency key; null without one
 */
export function openContext<P extends Principal>(
  c: CallerRequest,
  { principal, reference, database }: Caller<P>,
  answers: AnswerStore | null,
): Context<P> {
  const { config, origin } = c.var;
  c.set('database', database);
  const runtime = withFixedClock(c.var.runtime);
  const notifyReceivers = (account: number) => {
    c.executionCtx.waitUntil(enqueueMessage(config.delivery, { shard: principal.shard, account }));
  };
  const authority = { ...reference, now: runtime.now };
  const ledger = new Ledger(database, authority, answers, notifyReceivers);
  return { principal, config, runtime, origin, reader: database, ledger };
}

/** The log fields that name a caller and the kind of their credential. */
export function callerLogFields({ principal, reference }: Caller<Principal>): LogFields {
  const { shard, account } = principal;
  const fields = { credential: reference.kind, shard, account: account.id };
  if (principal.kind === 'agent') return { ...fields, agent: principal.agent.id };
  return { ...fields, ...(principal.member && { member: principal.member.id }) };
}
