import { and, eq, isNull } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { accounts } from '../../db/schema';
import { notFound, unavailable } from '../../errors';
import { userAccess } from '../../http/access';
import { creatorOf, userActivity } from '../../http/activity';
import type { Scope, UserContext } from '../../http/context';
import { EXAMPLE, exampleId } from '../../http/examples';
import { text } from '../../http/fields';
import { body, noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { hasRow } from '../../ledger/guard';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { enqueueWebhook } from '../../outbox/enqueue';
import { recordAccountEvent } from '../../outbox/feed';
import { presentStop, Stop } from '../account';

/** The scopes of which one is enough to stop the account. */
export const STOP_SCOPES: readonly Scope[] = ['permissions:decide', 'account:write'];

/** How often a stop is tried while others stop and resume the account at the same time. */
const MAX_TRIES = 5;

export const StopRequest = lazy(() =>
  z
    .strictObject({
      reason: text(0, 1_000).optional().meta({ description: 'Why, for everybody who reads it.' }),
    })
    .meta({ id: 'StopRequest', examples: [{ reason: 'The bot mails everybody' }] }),
);

export const StopState = lazy(() =>
  z.object({ stopped: Stop().nullable() }).meta({
    id: 'StopState',
    description: 'Whether your account is stopped.',
    examples: [
      { stopped: { at: EXAMPLE.time, by: exampleId('member'), reason: 'The bot mails everybody' } },
    ],
  }),
);

export type StopState = LazyOutput<typeof StopState>;

/** The account was stopped before. Nothing was written. */
class StoppedBefore extends Error {}

/**
 * Stops the account: until it is resumed, nothing is requested, approved or used. If it is stopped
 * already, returns that stop and writes nothing. Only the route checks the scope.
 * @throws Problem `not_found` if the account was deleted meanwhile
 */
export async function stopAccount(
  context: UserContext,
  input: LazyOutput<typeof StopRequest>,
): Promise<StopState> {
  const { reader, principal } = context;
  const isAccount = eq(accounts.number, principal.account.number);
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const made = await tryStop(context, input);
    if (made) return { stopped: made };
    const [[row]] = await reader.load([reader.select().from(accounts).where(isAccount)]);
    if (!row) throw notFound('account');
    const stopped = presentStop(row);
    if (stopped) return { stopped };
  }
  throw unavailable();
}

/** Stops the account; returns null if it is stopped already. */
async function tryStop(
  context: UserContext,
  { reason }: LazyOutput<typeof StopRequest>,
): Promise<Stop | null> {
  const { principal, runtime, ledger, config } = context;
  const { account, member, shard } = principal;
  const { number } = account;
  const isRunning = and(eq(accounts.number, number), isNull(accounts.stoppedAt));
  const now = runtime.now();
  const stop = { stoppedAt: now, stoppedBy: member?.id ?? null, stopReason: reason || null };
  const record = userActivity(context, 'account.stopped', account.id);
  const event = {
    id: record.id,
    event: 'account.stopped' as const,
    at: now,
    by: creatorOf(principal),
    reason: stop.stopReason,
  };
  const guard = {
    name: 'account_was_not_stopped',
    holds: hasRow(accounts, isRunning),
    otherwise: new StoppedBefore(),
  };
  try {
    const [, feeds] = await ledger.change({
      guards: [guard],
      record,
      changes: (write) => [
        write
          .update(accounts)
          .set({ ...stop, updatedAt: now })
          .where(isRunning),
        recordAccountEvent(write, number, event),
      ],
      answer: null,
    });
    if (feeds.length > 0) await enqueueWebhook(config.webhooks, { shard, account: number });
  } catch (error) {
    if (error === guard.otherwise) return null;
    throw error;
  }
  return presentStop({ id: account.id, ...stop });
}

export const stopAccountRoute = new Hono().post(
  '/v1/me/stop',
  operation({
    id: 'stopAccount',
    tag: 'Account',
    summary: 'Stop every agent of your account',
    description:
      'From then on nothing is requested, approved or used, until somebody resumes the account. Denials, withdrawals, ' +
      'revocations and reads go on. Nothing is revoked. A token that somebody checks offline is not stopped. If the ' +
      'account is stopped already, the answer is that stop.',
    success: ok(StopState),
    problems: ['not_found'],
  }),
  userAccess(STOP_SCOPES, undefined, { ignoresKey: true }),
  noQuery(),
  body(StopRequest),
  async (c) => answer(c, await stopAccount(c.var.context, c.req.valid('json'))),
);
