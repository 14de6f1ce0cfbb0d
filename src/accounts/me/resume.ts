import { and, eq, isNotNull } from 'drizzle-orm';
import { Hono } from 'hono';
import { accounts } from '../../db/schema';
import { userAccess } from '../../http/access';
import { creatorOf, userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { body, NoFields, noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { hasRow } from '../../ledger/guard';
import { enqueueWebhook } from '../../outbox/enqueue';
import { recordAccountEvent } from '../../outbox/feed';
import { NOT_STOPPED } from '../account';
import { StopState } from './stop';

/** The account was not stopped. Nothing was written. */
class NotStopped extends Error {}

/**
 * Resumes the account: what was approved before the stop and has not expired is good again. Writes
 * nothing if the account is not stopped. Only the route checks the scope.
 */
export async function resumeAccount(context: UserContext): Promise<StopState> {
  const { principal, runtime, ledger, config } = context;
  const { number, id } = principal.account;
  const isStopped = and(eq(accounts.number, number), isNotNull(accounts.stoppedAt));
  const now = runtime.now();
  const record = userActivity(context, 'account.resumed', id);
  const guard = {
    name: 'account_was_stopped',
    holds: hasRow(accounts, isStopped),
    otherwise: new NotStopped(),
  };
  const event = {
    id: record.id,
    event: 'account.resumed' as const,
    at: now,
    by: creatorOf(principal),
    reason: null,
  };
  try {
    const [, feeds] = await ledger.change({
      guards: [guard],
      record,
      changes: (write) => [
        write
          .update(accounts)
          .set({ ...NOT_STOPPED, updatedAt: now })
          .where(isStopped),
        recordAccountEvent(write, number, event),
      ],
      answer: null,
    });
    const { shard } = principal;
    if (feeds.length > 0) await enqueueWebhook(config.webhooks, { shard, account: number });
  } catch (error) {
    if (error !== guard.otherwise) throw error;
  }
  return { stopped: null };
}

export const resumeAccountRoute = new Hono().post(
  '/v1/me/resume',
  operation({
    id: 'resumeAccount',
    tag: 'Account',
    summary: 'Resume your account after a stop',
    description: 'What was approved before the stop, and has not expired, is good again.',
    success: ok(StopState),
  }),
  userAccess('account:write', undefined, { ignoresKey: true }),
  noQuery(),
  body(NoFields),
  async (c) => answer(c, await resumeAccount(c.var.context)),
);
