import { and, desc, eq, inArray, lt, sql } from 'drizzle-orm';
import * as z from 'zod';
import { CHANNEL_KINDS, receivers } from '../db/schema';
import { notFound, Problem } from '../errors';
import { creatorOf, userActivity } from '../http/activity';
import type { UserContext } from '../http/context';
import { defineList, loadPage } from '../http/list';
import { openPage, type Page, pageParameters } from '../http/page';
import { type LazyOutput, lazy } from '../lib/lazy';
import { type Id, parseId } from '../lib/typeid';
import { lastPosition, newestFileResult, openFeed } from '../outbox/feed';

// A receiver is a row of the table `receivers`: a webhook, a channel, which notifies people, or a
// device of a member. Deliveries and queue messages refer to it by its number. Devices have their
// own operations, in `channels/push`.

/** A webhook, a channel or a device. */
export type ReceiverRow = typeof receivers.$inferSelect;

/** The API's name for a receiver. */
export type ReceiverNoun = 'webhook' | 'channel';

/** The conditions that find the receivers of each noun. */
export const isOf = {
  webhook: eq(receivers.kind, 'webhook'),
  channel: inArray(receivers.kind, CHANNEL_KINDS),
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
    startsAfter: lastPosition(account),
    startsAfterFileResult: newestFileResult(account),
    createdBy: creatorOf(principal),
    createdAt: now,
    updatedAt: now,
  };
}

interface NewReceiver {
  noun: ReceiverNoun;
  id: Id<'webhook' | 'chan'>;
  row: Omit<
    typeof receivers.$inferInsert,
    'account' | keyof ReturnType<typeof newReceiverColumns>
  > &
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
          select count(*) from ${receivers} where ${receivers.account} = ${account} and ${isOf[noun]}
        ) < ${maximum}`,
        otherwise: () =>
          new Problem(
            'conflict',
            `The account has ${maximum} ${noun}s, the maximum. Delete one first.`,
          ),
      },
    ],
    changes: (write) => [
      write.insert(receivers).values({ ...row, account }),
      ...openFeed(write, account),
    ],
    answer: { value: answer, subject: principal.account.id },
  });
}

/** The query parameters of a list of receivers. */
export const ReceiverListQuery = lazy(() => z.strictObject(pageParameters(20, 100)));

/** The list of an account's webhooks, or of its channels. */
export function receiverList(noun: ReceiverNoun) {
  return defineList({
    parameters: ReceiverListQuery,
    readPosition: (text: string) => parseId('webhook', text),
    select: (reader, { account }, _, { after, rowLimit }) =>
      reader
        .select()
        .from(receivers)
        .where(and(eq(receivers.account, account), isOf[noun], after && lt(receivers.id, after)))
        .orderBy(desc(receivers.id))
        .limit(rowLimit),
  });
}

/**
 * Lists the account's webhooks, or its channels, newest first.
 * @param preloaded the rows of the page, if they were preloaded
 */
export async function listReceivers(
  context: UserContext,
  noun: ReceiverNoun,
  input: LazyOutput<typeof ReceiverListQuery>,
  preloaded?: ReceiverRow[],
): Promise<Page<ReceiverRow>> {
  const { account } = context.principal;
  const page = await openPage<Id<'webhook'>>(
    context,
    { list: `${noun}s`, caller: account.id },
    input,
  );
  const rows = preloaded ?? (await loadPage(receiverList(noun), context, input, page));
  return page.make(rows, (row) => row);
}

/**
 * The row that the preload found.
 * @throws Problem `not_found`
 */
export function requireRow<T>(loaded: T[] | undefined, noun: ReceiverNoun | 'delivery'): T {
  const [row] = loaded ?? [];
  if (!row) throw notFound(noun);
  return row;
}
