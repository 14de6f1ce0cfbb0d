import { and, lte, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/sqlite-core';
import { isAtHome } from '../../db/at-home';
import { codeOf } from '../../db/columns';
import type { Reader } from '../../db/database';
import {
  agents,
  DELIVERY_EVENTS,
  deliveries,
  heldMessages,
  PERMISSION_STATUSES,
  permissions,
  receivers,
  votes,
} from '../../db/schema';
import type { Runtime } from '../../env';
import type { Ledger } from '../../ledger/ledger';
import { toHex } from '../../lib/bytes';
import { idBytes, makeId } from '../../lib/typeid';
import { type DeliveryQueues, enqueueOrThrow } from '../../outbox/enqueue';
import { markDue, newDeliveryColumns } from '../deliveries/pending';

/** Maximum number of messages that one call of {@link releaseHeld} releases. */
const SLICE = 100;

interface ReleaseContext {
  shard: string;
  reader: Reader;
  ledger: Ledger;
  runtime: Runtime;
  queues: DeliveryQueues;
}

/**
 * Makes deliveries of held messages whose time has come, and enqueues a message for each channel.
 * Those to one person become one mail. Drops those about a request that ended meanwhile, or on
 * which the member has voted.
 * @returns whether there may be more
 */
export async function releaseHeld({
  shard,
  reader,
  ledger,
  runtime,
  queues,
}: ReleaseContext): Promise<boolean> {
  const now = runtime.now();
  const [due] = await reader.load([
    reader
      .select()
      .from(heldMessages)
      .where(and(lte(heldMessages.dueAt, now), isAtHome))
      .orderBy(heldMessages.dueAt)
      .limit(SLICE),
  ]);
  if (due.length === 0) return false;
  // Sorted, so that the deliveries are listed in the order in which the messages became due.
  const ids = due.map(() => toHex(idBytes(makeId('dlv', now, runtime.random(10))))).sort();
  const rows = JSON.stringify(
    due.map(({ account, receiver, member, permission, event, reminder }, i) => [
      ...[account, receiver, toHex(idBytes(member)), toHex(idBytes(permission))],
      ...[DELIVERY_EVENTS.indexOf(event), reminder, ids[i]],
    ]),
  );
  const numbers = JSON.stringify([...new Set(due.map(({ receiver }) => receiver))]);
  const [, , channels] = await ledger.write({
    changes: (write) => [
      write.insert(deliveries).select(selectDeliveries(rows, now)),
      write.delete(heldMessages).where(
        sql`(
          ${heldMessages.account}, ${heldMessages.receiver}, ${heldMessages.member},
          ${heldMessages.permission}, ${heldMessages.event}, ${heldMessages.reminder}
        ) in (
          select value ->> 0, value ->> 1, unhex(value ->> 2), unhex(value ->> 3), value ->> 4, value ->> 5
          from json_each(${rows})
        )`,
      ),
      markDue(
        write,
        sql`${receivers.number} in (select value from json_each(${numbers}))`,
        now,
      ).returning({
        account: receivers.account,
        receiver: receivers.number,
        isSlow: receivers.isSlow,
      }),
    ],
  });
  const messages = channels.map(({ account, receiver, isSlow }) => ({
    body: { shard, account, receiver },
    isSlow,
  }));
  await enqueueOrThrow(queues, messages);
  return due.length === SLICE;
}

const held = alias(heldMessages, 'held');

/** Selects the held messages that are still of interest as rows of the table of deliveries. */
function selectDeliveries(rows: string, now: number) {
  const asks = sql`(${codeOf(DELIVERY_EVENTS, 'permission.requested')}, ${codeOf(DELIVERY_EVENTS, 'permission.escalated')})`;
  const columns = {
    receiver: sql`${receivers.number}`,
    id: sql`unhex(value ->> 6)`,
    disableCount: sql`${receivers.disableCount}`,
    event: sql`${held.event}`,
    agent: sql`${permissions.agent}`,
    permission: sql`${held.permission}`,
    reminder: sql`nullif(${held.reminder}, 0)`,
    member: sql`${held.member}`,
    digestGroup: sql`${now}`,
  };
  return sql`
    select ${newDeliveryColumns(columns, now)}
    from json_each(${rows})
    cross join ${heldMessages} as ${held}
      on ${held.account} = value ->> 0 and ${held.receiver} = value ->> 1
      and ${held.member} = unhex(value ->> 2) and ${held.permission} = unhex(value ->> 3)
      and ${held.event} = value ->> 4 and ${held.reminder} = value ->> 5
    cross join ${receivers}
      on ${receivers.number} = ${held.receiver} and ${receivers.account} = ${held.account}
      and ${receivers.isActive}
    cross join ${permissions}
      on ${permissions.account} = ${held.account} and ${permissions.id} = ${held.permission}
    where exists (select 1 from ${agents} where ${agents.number} = ${permissions.agent}) and (
      ${held.event} not in ${asks} or (
        ${permissions.status} = ${codeOf(PERMISSION_STATUSES, 'pending')}
        and ${permissions.expiresAt} > ${now}
        and not exists (
          select 1 from ${votes}
          where ${votes.account} = ${held.account} and ${votes.permission} = ${held.permission}
            and ${votes.member} = ${held.member}
        )
      )
    )`;
}
