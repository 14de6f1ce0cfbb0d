import { Hono } from 'hono';
import { userAccess } from '../../../http/access';
import type { UserContext } from '../../../http/context';
import { noQuery } from '../../../http/input';
import { answer, ok, operation } from '../../../http/operation';
import { type DeviceRow, selectDevices } from '../push/device';
import {
  NotificationSettings,
  presentSettings,
  requireCallingMember,
  selectSettings,
} from './settings';

/**
 * Returns the notification settings of the calling member.
 * @param rows the row of the member, or none
 * @param devices the devices of the member
 * @throws Problem `person_required`
 */
export async function getNotificationSettings(
  { principal }: UserContext,
  {
    rows: [row],
    devices,
  }: { rows: Parameters<typeof presentSettings>[0][]; devices: readonly DeviceRow[] },
): Promise<NotificationSettings> {
  requireCallingMember(principal);
  return presentSettings(row, devices);
}

export const getNotificationSettingsRoute = new Hono().get(
  '/v1/me/notifications',
  operation({
    id: 'getNotificationSettings',
    tag: 'Channels',
    summary: 'Get your notification settings',
    description: 'A token of the account has none.',
    success: ok(NotificationSettings),
    problems: ['person_required'],
  }),
  userAccess('account:read', async (_, reader, { account, id }) => ({
    settings: selectSettings(reader, account, id),
    devices: selectDevices(reader, account, id),
  })),
  noQuery(),
  async (c) => {
    const { settings: rows = [], devices = [] } = c.var.loaded;
    return answer(c, await getNotificationSettings(c.var.context, { rows, devices }));
  },
);
