import { and, eq, inArray, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { idList } from '../../../db/columns';
import type { Reader } from '../../../db/database';
import { CHANNEL_KINDS, notificationSettings, receivers } from '../../../db/schema';
import { Problem } from '../../../errors';
import type { MemberRef, UserPrincipal } from '../../../http/context';
import { EXAMPLE, exampleId } from '../../../http/examples';
import { dateTime, idText, listOf, plainText } from '../../../http/fields';
import { idField, timeField } from '../../../http/response-fields';
import type { JsonObject } from '../../../lib/json';
import { type LazyOutput, lazy } from '../../../lib/lazy';
import { formatTime } from '../../../lib/time';
import { isTimeZone } from '../../../lib/time-zone';
import type { Id } from '../../../lib/typeid';
import { CHANNEL_EVENTS, ChannelEvent, MAX_CHANNELS } from '../channel';
import { type DeviceRow, exampleDevices, PushDevice, presentDevice } from '../push/device';

const MAX_TIME_ZONE_LENGTH = 64;

const CHANNELS =
  'The channels that may send you messages; null for all. With an empty list none may.';
const EVENTS =
  'The events that are sent to you; null for all. An empty list means none. Who may decide always gets the stop and the ' +
  'resume of the account, by every channel that sends them, whatever these settings say.';
const QUIET_HOURS =
  'The hours of every day in which you get no messages; null for none. Messages wait until these hours end, but for those ' +
  'about a disabled webhook, and about a stop or resume of the account. If the clocks show the start twice, the first one counts; if they show the end twice, the ' +
  'last one. A time that the clocks skip becomes the moment of the skip.';
const DELEGATE = 'Another member who gets your messages instead of you; null for nobody.';
const FROM = 'When the delegation starts; null for at once.';
const UNTIL = 'The end, which must be after `from`; null for no end.';

const timeOfDay = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day from 00:00 to 23:59, such as 07:00')
  .meta({ examples: ['07:00'] });

const quietHours = lazy(() =>
  z
    .strictObject({
      start: timeOfDay,
      end: timeOfDay.meta({
        description: 'Not the same as `start`. An end before the start is on the next day.',
      }),
      time_zone: plainText(MAX_TIME_ZONE_LENGTH)
        .refine(isTimeZone, 'must be a name of the IANA time zone database, such as Europe/Berlin')
        .meta({
          description: 'A name of the IANA time zone database.',
          examples: ['Europe/Berlin'],
        }),
    })
    .refine(({ start, end }) => start !== end, {
      path: ['end'],
      error: 'must not be the same as `start`',
    }),
);

const delegate = lazy(() =>
  z
    .strictObject({
      member_id: idText('member', 'must be the id of a member').meta({
        description: 'An active member, not yourself.',
      }),
      from: dateTime.nullable().default(null).meta({ description: FROM }),
      until: dateTime.nullable().default(null).meta({ description: UNTIL }),
    })
    .refine(({ from, until }) => from === null || until === null || from < until, {
      path: ['until'],
      error: 'must be after `from`',
    }),
);

/** The fields that a member can set. */
export const settingsFields = lazy(() => ({
  channels: listOf(idText('chan', 'must be the id of a channel'), MAX_CHANNELS, 0)
    .refine(isWithoutDuplicates, 'must name each channel once')
    .nullable()
    .meta({ description: CHANNELS }),
  events: listOf(ChannelEvent(), CHANNEL_EVENTS.length, 0)
    .refine(isWithoutDuplicates, 'must name each event once')
    .nullable()
    .meta({ description: EVENTS }),
  quiet_hours: quietHours().nullable().meta({ description: QUIET_HOURS }),
  delegate: delegate().nullable().meta({ description: DELEGATE }),
}));

function isWithoutDuplicates(list: unknown[]): boolean {
  return new Set(list).size === list.length;
}

export const exampleSettings = {
  channels: null,
  events: ['permission.requested', 'permission.escalated'],
  quiet_hours: { start: '22:00', end: '07:00', time_zone: 'Europe/Berlin' },
  delegate: { member_id: exampleId('member'), from: EXAMPLE.time, until: EXAMPLE.laterTime },
  push: exampleDevices,
  updated_at: EXAMPLE.time,
};

/** The settings as the API shows them. */
export const NotificationSettings = lazy(() =>
  z
    .object({
      channels: z
        .array(idField('chan'))
        .nullable()
        .meta({ description: `${CHANNELS} The list may name channels that were deleted.` }),
      events: z.array(ChannelEvent()).nullable().meta({ description: EVENTS }),
      quiet_hours: z
        .object({ start: z.string(), end: z.string(), time_zone: z.string() })
        .nullable()
        .meta({ description: QUIET_HOURS }),
      delegate: z
        .object({
          member_id: idField('member'),
          from: timeField.nullable().meta({ description: FROM }),
          until: timeField.nullable().meta({ description: 'The end; null for no end.' }),
        })
        .nullable()
        .meta({ description: `${DELEGATE} You get them while that member is not active.` }),
      push: z.array(PushDevice()).meta({
        description:
          'Your devices that are notified by Web Push, whatever `channels` says. You subscribe a device in the console.',
      }),
      updated_at: timeField.nullable().meta({ description: 'Null if you never changed them.' }),
    })
    .meta({
      id: 'NotificationSettings',
      description: 'Your notification settings.',
      examples: [exampleSettings],
    }),
);

export type NotificationSettings = LazyOutput<typeof NotificationSettings>;

/** The settings as the database stores them: every field is there. */
export type StoredSettings = Omit<NotificationSettings, 'push' | 'updated_at'>;

/** The settings of a member who has chosen nothing. */
export const DEFAULT_SETTINGS: StoredSettings = {
  channels: null,
  events: null,
  quiet_hours: null,
  delegate: null,
};

/** The settings in a row of the table; null for a member without a row. */
export function storedSettings(row: { settings: JsonObject } | undefined): StoredSettings | null {
  return (row?.settings as StoredSettings | undefined) ?? null;
}

export function presentSettings(
  row: { settings: JsonObject; updatedAt: number } | undefined,
  devices: readonly DeviceRow[],
): NotificationSettings {
  const { channels, events, quiet_hours, delegate } = storedSettings(row) ?? DEFAULT_SETTINGS;
  return {
    channels,
    events,
    quiet_hours,
    delegate,
    push: devices.map(presentDevice),
    updated_at: row ? formatTime(row.updatedAt) : null,
  };
}

/**
 * Whether a member wants to be notified of an event by a channel. A member without settings wants
 * everything.
 */
export function wants(
  settings: StoredSettings | null,
  { channelId, event }: { channelId: Id<'chan'>; event: ChannelEvent },
): boolean {
  const { channels } = settings ?? DEFAULT_SETTINGS;
  return (channels?.includes(channelId) ?? true) && wantsEvent(settings, event);
}

/** Whether a member wants to be notified of an event at all. */
export function wantsEvent(settings: StoredSettings | null, event: ChannelEvent): boolean {
  return settings?.events?.includes(event) ?? true;
}

/**
 * The member whom a member made the delegate at a time, in milliseconds since the epoch; null if
 * there is none. The delegate may no longer be active: the caller has to check that.
 */
export function delegateAt(settings: StoredSettings | null, now: number): Id<'member'> | null {
  const { delegate } = settings ?? DEFAULT_SETTINGS;
  if (!delegate) return null;
  const hasBegun = delegate.from === null || Date.parse(delegate.from) <= now;
  const hasEnded = delegate.until !== null && Date.parse(delegate.until) <= now;
  return hasBegun && !hasEnded ? delegate.member_id : null;
}

/** Selects the settings of a member: one row or none. */
export function selectSettings(
  reader: Reader,
  account: number | SQL<number>,
  member: Id<'member'> | SQL,
) {
  return reader
    .select({ settings: notificationSettings.settings, updatedAt: notificationSettings.updatedAt })
    .from(notificationSettings)
    .where(and(eq(notificationSettings.account, account), eq(notificationSettings.member, member)));
}

/** Selects those of some channels that the account has. A webhook or a device is no channel. */
export function selectChannels(reader: Reader, account: SQL<number>, ids: Id<'chan'>[]) {
  // As one parameter, because D1 allows at most 100 per statement.
  const wanted = idList(ids);
  return reader
    .select({ id: receivers.id })
    .from(receivers)
    .where(
      and(
        eq(receivers.account, account),
        inArray(receivers.kind, CHANNEL_KINDS),
        sql`${receivers.id} in ${wanted}`,
      ),
    );
}

/**
 * The member who calls, with whatever credential.
 * @throws Problem `person_required` for a token of the account
 */
export function requireCallingMember({ member }: UserPrincipal): MemberRef {
  if (member) return member;
  throw new Problem(
    'person_required',
    'Only a member has notification settings. Use a credential of a member.',
  );
}
