import { and, desc, eq, lt, ne, sql } from 'drizzle-orm';
import { webhooks } from '../../db/schema';
import { Problem } from '../../errors';
import { creatorOf, userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { openPage, type Page } from '../../http/page';
import type { Id } from '../../lib/typeid';
import { newestOutcome, newestPosition, openFeed } from '../../outbox/feed';
import type { WebhookRow } from './webhook';

// A receiver is a row of the table `webhooks`: a webhook, or a channel, which notifies people.

export type ReceiverNoun = 'webhook' | 'channel';

/** The condition that finds the receivers of a noun. */
export const isOf = {
  webhook: eq(webhooks.kind, 'webhook'),
  channel: ne(webhooks.kind, 'webhook'),
};

/**
 * The columns of a new receiver that do not depend on what it is: it gets the events from now on.
 */
export function newReceiverColumns({ principal, runtime }: UserContext) {
  const account = principal.account.number;
  const now = runtime.now();
  return {
    disabledReason: null,
    // It counts as slow until an attempt was fast.
    isSlow: true,
    startsAfter: newestPosition(account),
    startsAfterOutcome: newestOutcome(account),
    createdBy: creatorOf(principal),
    createdAt: now,
    updatedAt: now,
  };
}

interface NewReceiver {
  noun: ReceiverNoun;
  id: Id<'webhook' | 'chan'>;
  row: Omit<typeof webhooks.$inferInsert, 'account' | keyof ReturnType<typeof newReceiverColumns>> &
    ReturnType<typeof newReceiverColumns>;
  /** The maximum number of webhooks, or of channels, of an account. */
  maximum: number;
  answer: object;
}

/**
 * Inserts a receiver with its activity record.
 * @throws Problem `conflict` if the account has the maximum number
 */
export async function insertReceiver(
  context: UserContext,
  { noun, id, row, maximum, answer }: NewReceiver,
): Promise<void> {
  const { ledger, principal } = context;
  const account = principal.account.number;
  await ledger.change({
    record: userActivity(context, `${noun}.created`, id),
    guards: [
      {
        name: `${noun}s_below_limit`,
        holds: sql`(
          select count(*) from ${webhooks} where ${webhooks.account} = ${account} and ${isOf[noun]}
        ) < ${maximum}`,
        otherwise: new Problem(
          'conflict',
          `The account has ${maximum} ${noun}s, the maximum. Delete one first.`,
        ),
      },
    ],
    changes: (write) => [
      write.insert(webhooks).values({ ...row, account }),
      ...openFeed(write, account),
    ],
    answer: { value: answer, subject: principal.account.id },
  });
}

/** Lists the account's webhooks, or its channels, newest first. */
export async function listReceivers(
  context: UserContext,
  noun: ReceiverNoun,
  input: { limit: number; cursor?: string | undefined },
): Promise<Page<WebhookRow>> {
  const { reader, principal } = context;
  const { account } = principal;
  const page = await openPage<Id<'webhook'>>(
    context,
    { list: `${noun}s`, caller: account.id },
    input,
  );
  const [rows] = await reader.load([
    reader
      .select()
      .from(webhooks)
      .where(
        and(
          eq(webhooks.account, account.number),
          isOf[noun],
          page.after && lt(webhooks.id, page.after),
        ),
      )
      .orderBy(desc(webhooks.id))
      .limit(page.rowLimit),
  ]);
  return page.make(rows, (row) => row);
}
