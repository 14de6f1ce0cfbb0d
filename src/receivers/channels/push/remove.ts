import { Hono } from 'hono';
import { receivers } from '../../../db/schema';
import { userAccess } from '../../../http/access';
import { targetExists, userActivity } from '../../../http/activity';
import type { UserContext } from '../../../http/context';
import { noQuery } from '../../../http/input';
import { answer, noContent, operation } from '../../../http/operation';
import { pathId } from '../../../http/path-id';
import type { Id } from '../../../lib/typeid';
import { endDevices } from '../../../outbox/end-devices';
import { requireCallingMember } from '../settings/settings';
import { isDeviceOf } from './device';

/**
 * Ends the notifications of a device of the member who calls.
 * @throws Problem `person_required`, `not_found`
 */
export async function removePushDevice(
  context: UserContext,
  { id }: { id: Id<'push'> },
): Promise<void> {
  const { principal, ledger } = context;
  const member = requireCallingMember(principal);
  const account = principal.account.number;
  const found = isDeviceOf(account, member.id, id);
  await ledger.change({
    record: userActivity(context, 'notifications.updated', id, { changes: ['push'] }),
    guards: [targetExists('device', receivers, found)],
    changes: (write) => endDevices(write, account, found),
    answer: null,
  });
}

export const removePushDeviceRoute = new Hono().delete(
  '/v1/me/notifications/push/:id',
  operation({
    id: 'removePushDevice',
    tag: 'Channels',
    summary: 'End the notifications of a device of yours',
    description:
      'Nothing more is sent to the device. To be notified on it again, subscribe on it in the console.',
    success: noContent(),
    pathId: 'push',
    problems: ['person_required'],
  }),
  userAccess('account:read'),
  noQuery(),
  async (c) => {
    await removePushDevice(c.var.context, { id: pathId(c, 'push', 'device') });
    return answer(c, null);
  },
);
