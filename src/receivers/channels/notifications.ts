import { and, desc, eq, lt, ne } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { aliased } from '../../db/columns';
import { CHANNEL_KINDS, deliveries, members, receivers } from '../../db/schema';
import { notFound } from '../../errors';
import { userAccess } from '../../http/access';
import type { Reader, RequestContext, UserContext } from '../../http/context';
import { query } from '../../http/input';
import { defineList, loadPage, type RowsOf, selectRequested } from '../../http/list';
import { answer, ok, operation } from '../../http/operation';
import { openPage, type Page, pageParameters } from '../../http/page';
import { pathId } from '../../http/path-id';
import { idField, pageOf } from '../../http/response-fields';
import type { CallerSql } from '../../identity/credentials';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { type Id, parseId, withPrefix } from '../../lib/typeid';
import { preloadPermission } from '../../permissions/find-permission';
import { deliveryColumns } from '../deliveries/delivery';
import {
  ChannelDelivery,
  exampleChannelDelivery,
  presentChannelDelivery,
} from './deliveries/delivery';

/** Whatever notifies people: the channels of the account, and the devices of members. */
const NOTIFYING_KINDS = [...CHANNEL_KINDS, 'push'] as const;

/** A message by which somebody was notified of a permission, and whether it arrived. */
export const Notification = lazy(() =>
  ChannelDelivery()
    .extend({
      channel_id: z.union([idField('chan'), idField('push')]).meta({
        description: 'The channel of the account, or the device of the member.',
      }),
      channel_name: z.string(),
      kind: z.enum(NOTIFYING_KINDS),
      member_name: z.string().nullable(),
    })
    .meta({
      id: 'Notification',
      description:
        'Whom a channel or a device notified of a permission, and whether the message arrived.',
      examples: [
        {
          ...exampleChannelDelivery,
          channel_name: 'Mail to reviewers',
          kind: 'email',
          member_name: 'Ada',
        },
      ],
    }),
);

export type Notification = LazyOutput<typeof Notification>;

const NotificationListQuery = lazy(() => z.strictObject(pageParameters(20, 100)));

/** The list of who was notified of a permission. */
function notificationList(permission: Id<'perm'>) {
  return defineList({
    parameters: NotificationListQuery,
    readPosition: (text: string) => parseId('dlv', text),
    select: (reader, { account }, _, { after, rowLimit }) =>
      reader
        .select({
          ...deliveryColumns,
          receiverId: aliased(receivers.id, 'receiver_id'),
          kind: receivers.kind,
          channelName: aliased(receivers.name, 'channel_name'),
          memberName: aliased(members.name, 'member_name'),
          memberEmail: aliased(members.email, 'member_email'),
        })
        .from(deliveries)
        .innerJoin(
          receivers,
          and(eq(receivers.number, deliveries.receiver), eq(receivers.account, account)),
        )
        .leftJoin(members, and(eq(members.account, account), eq(members.id, deliveries.member)))
        .where(
          and(
            eq(deliveries.permission, permission),
            ne(receivers.kind, 'webhook'),
            after && lt(deliveries.id, after),
          ),
        )
        .orderBy(desc(deliveries.id))
        .limit(rowLimit),
  });
}

/** Preloads the permission in the path, and the page of its notifications. */
async function preloadNotifications(c: RequestContext, reader: Reader, caller: CallerSql) {
  const id = parseId('perm', c.req.param('id') ?? '');
  const list = id && notificationList(id);
  const { permission } = await preloadPermission(c, reader, caller);
  return { permission, page: list && selectRequested(c, list, reader, caller) };
}

/**
 * Lists who was notified of a permission, the newest message first.
 * @param preloaded the rows of the page, if they were preloaded
 */
export async function listNotifications(
  context: UserContext,
  { id, ...input }: { id: Id<'perm'> } & LazyOutput<typeof NotificationListQuery>,
  preloaded?: RowsOf<ReturnType<typeof notificationList>>,
): Promise<Page<Notification>> {
  const { account } = context.principal;
  const page = await openPage<Id<'dlv'>>(context, { list: id, caller: account.id }, input);
  const rows = preloaded ?? (await loadPage(notificationList(id), context, input, page));
  return page.make(rows, (row) => ({
    ...presentChannelDelivery(withPrefix('chan', row.receiverId), row),
    ...(row.kind === 'push' && { channel_id: withPrefix('push', row.receiverId) }),
    channel_name: row.channelName ?? '',
    kind: row.kind as Notification['kind'],
    member_name: row.memberName ?? row.memberEmail,
  }));
}

export const listNotificationsRoute = new Hono().get(
  '/v1/permissions/:id/notifications',
  operation({
    id: 'listNotifications',
    tag: 'Permissions',
    summary: 'List who was notified of a permission',
    description:
      'By which channel or device, when, and whether it was delivered; newest first. Messages are listed for 30 days.',
    success: ok(pageOf(Notification)),
    pathId: 'perm',
  }),
  userAccess('permissions:read', preloadNotifications),
  query(NotificationListQuery),
  async (c) => {
    if (!c.var.loaded.permission?.[0]) throw notFound('permission');
    const input = { id: pathId(c, 'perm'), ...c.req.valid('query') };
    return answer(c, await listNotifications(c.var.context, input, c.var.loaded.page));
  },
);
