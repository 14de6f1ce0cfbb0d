import * as z from 'zod';
import type { Reader } from '../../../db/database';
import type { RequestContext } from '../../../http/context';
import { EXAMPLE, exampleId } from '../../../http/examples';
import { countField, idField } from '../../../http/response-fields';
import type { CallerSql } from '../../../identity/credentials';
import { type LazyOutput, lazy } from '../../../lib/lazy';
import { type Id, parseId } from '../../../lib/typeid';
import { deliveryFields, findDelivery, presentProgress } from '../../deliveries/delivery';
import type { ListedDelivery } from '../../deliveries/list';
import { isChannel } from '../channel';

export const exampleChannelDelivery = {
  id: exampleId('dlv'),
  channel_id: exampleId('chan'),
  permission_id: exampleId('perm'),
  reminder: null,
  member_id: exampleId('member'),
  slack_channel: null,
  event: 'permission.requested',
  status: 'succeeded',
  attempts: 1,
  next_attempt_at: null,
  last_status_code: 200,
  last_error: null,
  created_at: EXAMPLE.time,
  completed_at: EXAMPLE.time,
};

/** A message by a channel as the API shows it in lists. */
export const ChannelDelivery = lazy(() =>
  z
    .object({
      id: idField('dlv'),
      channel_id: idField('chan'),
      permission_id: idField('perm').nullable(),
      reminder: countField
        .nullable()
        .meta({ description: 'Which reminder it is, from 1 on; null if it is none.' }),
      member_id: idField('member')
        .nullable()
        .meta({ description: 'The member whom it notifies; null if it is for no member.' }),
      slack_channel: z
        .string()
        .nullable()
        .meta({ description: 'The id of the Slack channel; null for e-mail.' }),
      ...deliveryFields(),
    })
    .meta({
      id: 'ChannelDelivery',
      description: 'One event on its way to one recipient.',
      examples: [exampleChannelDelivery],
    }),
);

export type ChannelDelivery = LazyOutput<typeof ChannelDelivery>;

/** The parameters in the path of a delivery. */
export const channelDeliveryPath = lazy(() =>
  z.object({ id: idField('chan'), delivery_id: idField('dlv') }),
);

/** Preloads the delivery in the path. */
export async function preloadChannelDelivery(
  c: RequestContext,
  reader: Reader,
  { account }: CallerSql,
) {
  const channel = parseId('chan', c.req.param('id') ?? '');
  const id = parseId('dlv', c.req.param('delivery_id') ?? '');
  return { delivery: channel && id && findDelivery(reader, isChannel(account, channel), id) };
}

/** Presents a message by a channel. */
export function presentChannelDelivery(channel: Id<'chan'>, row: ListedDelivery): ChannelDelivery {
  return {
    id: row.id,
    channel_id: channel,
    permission_id: row.aboutPermission,
    reminder: row.reminder,
    member_id: row.member,
    slack_channel: row.slackChannel,
    ...presentProgress(row),
  };
}
