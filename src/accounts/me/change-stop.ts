import { and, eq, isNotNull, isNull } from 'drizzle-orm';
import { accounts } from '../../db/schema';
import { creatorOf, userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { hasRow } from '../../ledger/guard';
import { enqueueMessage } from '../../outbox/enqueue';
import { recordAccountEvent } from '../../outbox/feed';

/** The account was in the wanted state before. Nothing was written. */
class Unchanged extends Error {}

/** The columns of an account that say whether it is stopped. */
type StopColumns = Pick<typeof accounts.$inferSelect, 'stoppedAt' | 'stoppedBy' | 'stopReason'>;

/**
 * Stops or resumes the account, with the record and the event that tell about it.
 * @returns whether it did; false, and nothing is written, if the account was stopped or running
 *   before
 */
export async function changeStop(
  context: UserContext,
  action: 'account.stopped' | 'account.resumed',
  columns: StopColumns,
): Promise<boolean> {
  const { principal, runtime, ledger, config } = context;
  const { account, shard } = principal;
  const now = runtime.now();
  const isInOtherState =
    action === 'account.stopped' ? isNull(accounts.stoppedAt) : isNotNull(accounts.stoppedAt);
  const isToChange = and(eq(accounts.number, account.number), isInOtherState);
  const record = userActivity(context, action, account.id);
  const event = {
    id: record.id,
    event: action,
    at: now,
    by: creatorOf(principal),
    reason: columns.stopReason,
  };
  const guard = {
    name: 'account_was_to_stop_or_resume',
    holds: hasRow(accounts, isToChange),
    otherwise: () => new Unchanged(),
  };
  try {
    const [, feeds] = await ledger.change({
      guards: [guard],
      record,
      changes: (write) => [
        write
          .update(accounts)
          .set({ ...columns, updatedAt: now })
          .where(isToChange),
        recordAccountEvent(write, account.number, event),
      ],
      answer: null,
    });
    if (feeds.length > 0) await enqueueMessage(config.delivery, { shard, account: account.number });
  } catch (error) {
    if (error instanceof Unchanged) return false;
    throw error;
  }
  return true;
}
