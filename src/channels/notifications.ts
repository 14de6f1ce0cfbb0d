import { and, asc, eq, ne } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { aliased } from '../db/columns';
import { deliveries, members, webhooks } from '../db/schema';
import { notFound } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { pathId } from '../http/path-id';
import { lazy } from '../lib/lazy';
import { type Id, withPrefix } from '../lib/typeid';
import { permissionInPath } from '../permissions/permission';
import { deliveryColumns } from '../webhooks/deliveries/delivery';
import { ChannelKind } from './channel';
import { ChannelDelivery, exampleChannelDelivery, presentChannelDelivery } from './deliveries/delivery';

/** How many messages about one permission are listed. */
const MAX_NOTIFICATIONS = 500;

/** Whom a channel notified of a permission, and whether the message arrived. */
export const Notification = lazy(() =>
  ChannelDelivery()
    .extend({
      channel_name: z.string(),
      kind: ChannelKind(),
      member_name: z.string().nullable(),
    })
    .meta({
      id: 'Notification',
      description: 'Whom a channel notified of a permission, and whether the message arrived.',
      examples: [{ ...exampleChannelDelivery, channel_name: 'Mail to reviewers', kind: 'email', member_name: 'Ada' }],
    }),
);

export type Notification = z.output<ReturnType<typeof Notification>>;

export const NotificationList = lazy(() =>
  z.object({ data: z.array(Notification()) }).meta({ id: 'NotificationList' }),
);

/** Lists who was notified of a permission, in the order in which the messages were made: the first 500. */
export async function listNotifications(
  { reader, principal }: UserContext,
  { id }: { id: Id<'perm'> },
): Promise<{ data: Notification[] }> {
  const account = principal.account.number;
  const [rows] = await reader.load([
    reader
      .select({
        ...deliveryColumns,
        webhookId: aliased(webhooks.id, 'webhook_id'),
        kind: webhooks.kind,
        channelName: aliased(webhooks.name, 'channel_name'),
        memberName: aliased(members.name, 'member_name'),
        memberEmail: aliased(members.email, 'member_email'),
      })
      .from(deliveries)
      .innerJoin(webhooks, and(eq(webhooks.number, deliveries.webhook), eq(webhooks.account, account)))
      .leftJoin(members, and(eq(members.account, account), eq(members.id, deliveries.member)))
      .where(and(eq(deliveries.permission, id), ne(webhooks.kind, 'webhook')))
      .orderBy(asc(deliveries.id))
      .limit(MAX_NOTIFICATIONS),
  ]);
  const data = rows.map((row) => ({
    ...presentChannelDelivery(withPrefix('chan', row.webhookId), row),
    channel_name: row.channelName ?? '',
    kind: row.kind as Notification['kind'],
    member_name: row.memberName ?? row.memberEmail,
  }));
  return { data };
}

export const listNotificationsRoute = new Hono().get(
  '/v1/permissions/:id/notifications',
  operation({
    id: 'listNotifications',
    tag: 'Permissions',
    summary: 'List who was notified of a permission',
    description: 'By which channel, when, and whether it was delivered: the first 500 messages of the last 30 days.',
    success: ok(NotificationList),
    pathId: 'perm',
  }),
  userAccess('permissions:read', permissionInPath),
  noQuery(),
  async (c) => {
    if (!c.var.loaded.permission?.[0]) throw notFound('permission');
    return answer(c, await listNotifications(c.var.context, { id: pathId(c, 'perm') }));
  },
);
