import { and, desc, eq, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { codeOf } from '../../db/columns';
import {
  agents,
  DELIVERY_STATUSES,
  deliveries,
  receivers,
  type DeliveryStatus as Status,
} from '../../db/schema';
import type { UserContext } from '../../http/context';
import { defineList, loadPage, type RowsOf } from '../../http/list';
import { openPage, type Page, pageParameters } from '../../http/page';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { type Id, idBytes, parseId } from '../../lib/typeid';
import type { ReceiverRow } from '../receiver';
import {
  agentExists,
  DeliveryStatus,
  deliveryColumns,
  type FoundDelivery,
  type ShownDelivery,
} from './delivery';
import { FROM_FIRST_ATTEMPTS, FROM_RETRIES, isPendingFor } from './pending';

export const DeliveryListQuery = lazy(() =>
  z.strictObject({
    ...pageParameters(20, 100),
    status: DeliveryStatus().optional().meta({ description: 'Only deliveries with this status.' }),
  }),
);

/** How many deliveries one page of succeeded ones scans: no index finds them. */
const SCANNED = 1_000;

/**
 * Selects the ids of a page, newest first. Indexes find the pending and the failed deliveries. The
 * succeeded ones are found by scanning a limited number of deliveries. The last of that number is
 * always selected, so that the next page continues there, and listed only if it succeeded.
 */
function selectPage(
  receiver: SQL<number>,
  status: Status | undefined,
  older: SQL,
  limit: number,
): SQL {
  const newest = sql`${older} order by ${deliveries.id} desc limit ${limit}`;
  const own = sql`${deliveries.receiver} = ${receiver} ${newest}`;
  const each = sql`select ${deliveries.id}, 1 as is_listed, 0 as is_cut`;
  const eachOf = (ids: SQL) => sql`select id, 1 as is_listed, 0 as is_cut from (${ids})`;
  switch (status) {
    case undefined:
      return sql`${each} from ${deliveries} where ${own}`;
    case 'failed':
      return sql`${each} from ${deliveries} indexed by deliveries_failed
        where ${deliveries.status} = ${codeOf(DELIVERY_STATUSES, 'failed')} and ${own}`;
    case 'pending':
      return sql`
        ${eachOf(sql`select ${deliveries.id} from ${FROM_FIRST_ATTEMPTS} ${isPendingFor(receiver)} ${newest}`)}
        union all
        ${eachOf(sql`select ${deliveries.id} from ${FROM_RETRIES} ${isPendingFor(receiver)} ${newest}`)}
        order by id desc limit ${limit}`;
    case 'succeeded':
      return sql`
        select id, has_succeeded as is_listed, place = ${SCANNED} as is_cut from (
          select ${deliveries.id},
            ${deliveries.status} = ${codeOf(DELIVERY_STATUSES, 'succeeded')} as has_succeeded,
            row_number() over (order by ${deliveries.id} desc) as place
          from ${deliveries} where ${deliveries.receiver} = ${receiver} ${older}
          order by ${deliveries.id} desc limit ${SCANNED}
        ) where has_succeeded or place = ${SCANNED} limit ${limit}`;
  }
}

/**
 * The list of the deliveries to a webhook or by a channel.
 * @param isReceiver the condition that finds the receiver in its account
 */
export function deliveryList(isReceiver: (account: SQL<number>) => SQL | undefined) {
  return defineList({
    parameters: DeliveryListQuery,
    readPosition: (text: string) => parseId('dlv', text),
    select: (reader, { account }, { status }, { after, rowLimit }) => {
      const receiver = sql<number>`(
        select ${receivers.number} from ${receivers} where ${isReceiver(account)})`;
      const older = after ? sql`and ${deliveries.id} < ${idBytes(after)}` : sql``;
      return (
        reader
          .select({
            ...deliveryColumns,
            isListed: sql<number>`${agentExists} and page.is_listed`.as('is_listed'),
            isCut: sql<number>`page.is_cut`.as('is_cut'),
          })
          .from(sql`(${selectPage(receiver, status, older, rowLimit)}) as page`)
          // Cross joins keep this order: the planner would scan all deliveries of the receiver.
          .crossJoin(deliveries)
          .crossJoin(receivers)
          .leftJoin(agents, eq(agents.number, deliveries.agent))
          .where(
            and(
              eq(deliveries.receiver, receiver),
              sql`${deliveries.id} = page.id`,
              eq(receivers.number, deliveries.receiver),
            ),
          )
          .orderBy(desc(deliveries.id))
      );
    },
  });
}

/** The rows of a page of {@link deliveryList}. */
export type DeliveryRows = RowsOf<ReturnType<typeof deliveryList>>;

export type ListInput = { receiver: ReceiverRow } & LazyOutput<typeof DeliveryListQuery>;

/** A delivery as {@link listDeliveriesAs} reads it. */
export type ListedDelivery = ShownDelivery &
  Pick<FoundDelivery, 'aboutPermission' | 'reminder' | 'member' | 'slackChannel'>;

/**
 * Lists the deliveries to a webhook or by a channel, newest first.
 * @param present shows a delivery as the API answers it
 */
export async function listDeliveriesAs<T>(
  context: UserContext,
  { receiver, ...input }: ListInput,
  present: (row: ListedDelivery) => T,
  preloaded?: DeliveryRows,
): Promise<Page<T>> {
  const { account } = context.principal;
  const page = await openPage<Id<'dlv'>>(context, { list: receiver.id, caller: account.id }, input);
  const list = deliveryList((owner) =>
    and(eq(receivers.account, owner), eq(receivers.number, receiver.number)),
  );
  const rows = preloaded ?? (await loadPage(list, context, input, page));
  const presentListed = (row: (typeof rows)[number]) => (row.isListed ? present(row) : null);
  return page.make(rows, presentListed, { isCut: rows.at(-1)?.isCut === 1 });
}
