import { and, eq, ne, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { members, notificationSettings } from '../../../db/schema';
import { invalidRequest } from '../../../errors';
import { userAccess } from '../../../http/access';
import { userActivity } from '../../../http/activity';
import type { UserContext } from '../../../http/context';
import { atLeastOneField, body, noQuery, readJson, readObject } from '../../../http/input';
import { answer, ok, operation } from '../../../http/operation';
import type { Preload } from '../../../http/preload';
import { type Guard, hasRow } from '../../../ledger/guard';
import { type LazyOutput, lazy } from '../../../lib/lazy';
import { formatTimeOrNull } from '../../../lib/time';
import { type Id, parseId, withPrefix } from '../../../lib/typeid';
import { MAX_CHANNELS } from '../channel';
import { type DeviceRow, selectDevices } from '../push/device';
import {
  DEFAULT_SETTINGS,
  exampleSettings,
  NotificationSettings,
  presentSettings,
  requireCallingMember,
  type StoredSettings,
  selectChannels,
  settingsFields,
} from './settings';

export const NotificationSettingsUpdate = lazy(() =>
  atLeastOneField(z.strictObject(settingsFields()).partial()).meta({
    id: 'NotificationSettingsUpdate',
    examples: [{ events: exampleSettings.events, quiet_hours: exampleSettings.quiet_hours }],
  }),
);

type Fields = LazyOutput<typeof NotificationSettingsUpdate>;

/**
 * Changes the given fields of what the member who calls chose about messages. Concurrent changes of
 * different fields all take effect: the statement replaces only the given fields of the stored
 * settings.
 * @param found those of the channels in `channels` that the account has
 * @param devices the devices of the member
 * @throws Problem `person_required`; `invalid_request` for a channel that the account does not
 *   have, or a delegate who is not another active member
 */
export async function updateNotificationSettings(
  context: UserContext,
  {
    found,
    devices,
    ...fields
  }: { found: { id: Id<'webhook'> }[]; devices: readonly DeviceRow[] } & Fields,
): Promise<NotificationSettings> {
  const { principal, ledger, runtime } = context;
  const member = requireCallingMember(principal);
  requireChannels(fields.channels, found);
  const account = principal.account.number;
  const changes = storedChanges(fields);
  const columns = { updatedAt: runtime.now() };
  const replaced = Object.entries(changes).map(
    ([name, value]) => sql`, ${`$.${name}`}, json(${JSON.stringify(value)})`,
  );
  const delegate = fields.delegate?.member_id;
  const [[row]] = await ledger.change({
    guards: delegate === undefined ? [] : [delegateGuard(account, member.id, delegate)],
    record: userActivity(context, 'notifications.updated', member.id, {
      changes: Object.keys(changes),
    }),
    changes: (write) => [
      write
        .insert(notificationSettings)
        .values({
          ...columns,
          account,
          member: member.id,
          settings: { ...DEFAULT_SETTINGS, ...changes },
        })
        .onConflictDoUpdate({
          target: [notificationSettings.account, notificationSettings.member],
          set: {
            ...columns,
            settings: sql`json_set(${notificationSettings.settings}${sql.join(replaced)})`,
          },
        })
        .returning(),
    ],
    answer: null,
  });
  return presentSettings(row, devices);
}

/** The given fields as the database stores them. */
function storedChanges({ delegate, ...fields }: Fields): Partial<StoredSettings> {
  const changes = {
    ...fields,
    delegate: delegate && {
      member_id: delegate.member_id,
      from: formatTimeOrNull(delegate.from),
      until: formatTimeOrNull(delegate.until),
    },
  };
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

/** Refuses channels that the account does not have. */
function requireChannels(
  ids: Id<'chan'>[] | null | undefined,
  found: { id: Id<'webhook'> }[],
): void {
  const own = new Set(found.map(({ id }) => withPrefix('chan', id)));
  const errors = (ids ?? []).flatMap((id, i) =>
    own.has(id)
      ? []
      : [{ path: `body.channels.${i}`, message: 'is not a channel of this account' }],
  );
  if (errors.length > 0) throw invalidRequest(errors);
}

/** The guard of a delegate, who must be another active member of the account. */
function delegateGuard(account: number, member: Id<'member'>, delegate: Id<'member'>): Guard {
  const isActive = and(
    eq(members.account, account),
    eq(members.id, delegate),
    ne(members.id, member),
    eq(members.status, 'active'),
  );
  return {
    name: 'delegate_is_active_member',
    holds: hasRow(members, isActive),
    otherwise: () =>
      invalidRequest([
        {
          path: 'body.delegate.member_id',
          message: 'must be another active member of this account',
        },
      ]),
  };
}

/**
 * Preloads the devices of the caller, and the channels in the body as far as the account has them.
 * The body is not validated yet: for an invalid one fewer channels are found, or none.
 */
const preloadChannels = (async (c, reader, { account, id }) => {
  const { channels: listed } = (await readObject(c, readJson)) ?? {};
  const named = Array.isArray(listed) ? listed.slice(0, MAX_CHANNELS) : [];
  const ids = named.flatMap((id) => (typeof id === 'string' ? (parseId('chan', id) ?? []) : []));
  return {
    channels: ids.length > 0 ? selectChannels(reader, account, ids) : null,
    devices: selectDevices(reader, account, id),
  };
}) satisfies Preload<{
  channels: ReturnType<typeof selectChannels> | null;
  devices: ReturnType<typeof selectDevices>;
}>;

export const updateNotificationSettingsRoute = new Hono().put(
  '/v1/me/notifications',
  operation({
    id: 'updateNotificationSettings',
    tag: 'Channels',
    summary: 'Change your notification settings',
    description: 'Changes the given fields. A token of the account has no settings.',
    success: ok(NotificationSettings),
    problems: ['person_required'],
  }),
  userAccess('account:read', preloadChannels),
  noQuery(),
  body(NotificationSettingsUpdate),
  async (c) => {
    const { channels: found = [], devices = [] } = c.var.loaded;
    const input = { found, devices, ...c.req.valid('json') };
    return answer(c, await updateNotificationSettings(c.var.context, input));
  },
);
