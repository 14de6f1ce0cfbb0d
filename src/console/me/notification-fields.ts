import type { Json } from '../../lib/json';
import { DAY, formatTime } from '../../lib/time';
import type { NotificationSettings } from '../../receivers/channels/settings/settings';
import type { Refusal, SentForm } from '../frame/form';
import { CHOSEN_BY_MEMBERS } from '../receivers/events';

/** The fields of a form that was refused, and why. */
export interface RefusedNotifications {
  fields: NotificationFields;
  refusal: Refusal;
}

/** The fields of the form. */
export interface NotificationFields {
  /** The channels among those offered whose messages the member gets. */
  channels: string[];
  /** The channels that the page showed. */
  offered: string[];
  events: string[];
  start: string;
  end: string;
  timeZone: string;
  /** Empty for nobody. */
  delegate: string;
  /** Days in UTC; empty for no bound. */
  firstDay: string;
  lastDay: string;
}

/** Reads the fields that a member sent. */
export function readFields(form: SentForm): NotificationFields {
  return {
    channels: form.list('channels'),
    offered: form.list('offered'),
    events: form.list('events'),
    start: form.text('quiet_start').trim(),
    end: form.text('quiet_end').trim(),
    timeZone: form.text('time_zone').trim(),
    delegate: form.text('delegate'),
    firstDay: form.text('first_day').trim(),
    lastDay: form.text('last_day').trim(),
  };
}

/** The fields of the form for the settings as they are. */
export function fieldsOf(
  { channels, events, quiet_hours, delegate }: NotificationSettings,
  offered: string[],
) {
  const { start = '', end = '', time_zone: timeZone = '' } = quiet_hours ?? {};
  const isChosen = (id: string) => channels?.some((chosen) => chosen === id) ?? true;
  return {
    channels: offered.filter(isChosen),
    offered,
    events: events ?? CHOSEN_BY_MEMBERS.map(([event]) => event),
    start,
    end,
    timeZone,
    delegate: delegate?.member_id ?? '',
    firstDay: delegate?.from?.slice(0, 10) ?? '',
    // The time at which the day ends belongs to the next one.
    lastDay: delegate?.until ? formatTime(Date.parse(delegate.until) - 1).slice(0, 10) : '',
  };
}

/**
 * The fields as the API takes them. All that is offered, or every event, is null: later ones too.
 */
export function settingsOf(fields: NotificationFields): Record<string, Json> {
  const { channels, offered, events, start, end, timeZone, delegate, firstDay, lastDay } = fields;
  const settings: Record<string, Json> = { events, quiet_hours: null, delegate: null };
  if (CHOSEN_BY_MEMBERS.every(([event]) => events.includes(event))) settings.events = null;
  if (start !== '' || end !== '') settings.quiet_hours = { start, end, time_zone: timeZone };
  if (delegate !== '') {
    settings.delegate = {
      member_id: delegate,
      from: timeOfDay(firstDay, 0),
      until: timeOfDay(lastDay, DAY),
    };
  }
  if (offered.length > 0) {
    settings.channels = offered.every((id) => channels.includes(id)) ? null : channels;
  }
  return settings;
}

/**
 * A time after the beginning of a day in UTC. A text that is no day stays as it is: the API then
 * refuses it.
 */
function timeOfDay(day: string, after: number): string | null {
  if (day === '') return null;
  const time = Date.parse(day);
  if (!/^\d{4}-\d\d-\d\d$/.test(day) || Number.isNaN(time)) return day;
  return formatTime(time + after);
}

/** The settings as they are now, in words. */
export function inWords({
  channels,
  events,
  quiet_hours,
  delegate,
}: NotificationSettings): Record<string, string> {
  return {
    channels: channels === null ? 'all channels' : `limited to ${channels.length}`,
    events: events === null ? 'all' : events.join(', '),
    quiet_hours: quiet_hours
      ? `${quiet_hours.start} to ${quiet_hours.end}, ${quiet_hours.time_zone}`
      : 'none',
    delegate: delegate ? 'somebody else, or other days' : 'nobody',
  };
}
