import type { SQL } from 'drizzle-orm';
import { listMembers } from '../../accounts/members/list';
import type { Member } from '../../accounts/members/member';
import type { Reader, RequestContext, UserContext } from '../../http/context';
import type { Json } from '../../lib/json';
import { lazy } from '../../lib/lazy';
import { DAY, formatTime } from '../../lib/time';
import { parseId } from '../../lib/typeid';
import { type Channel, MAX_CHANNELS } from '../../receivers/channels/channel';
import { listChannels } from '../../receivers/channels/list';
import { type DeviceRow, selectDevices } from '../../receivers/channels/push/device';
import { getNotificationSettings } from '../../receivers/channels/settings/get';
import {
  type NotificationSettings,
  selectChannels,
  selectSettings,
} from '../../receivers/channels/settings/settings';
import {
  NotificationSettingsUpdate,
  updateNotificationSettings,
} from '../../receivers/channels/settings/update';
import { CHOSEN_EVENTS } from '../channels/events';
import {
  changedFields,
  type Refusal,
  readForm,
  refusalOf,
  requireUnchanged,
  type Form as SentForm,
  ShownState,
  validate,
} from '../frame/form';
import { Section } from '../parts/blocks';
import {
  addMissingOption,
  CheckBox,
  FieldFault,
  FieldGroup,
  Form,
  SelectField,
  Submit,
  TextField,
  useRefusal,
} from '../parts/form';
import { Written } from '../parts/inline';
import type { PreloadedContext } from '../session/access';

/** The member's settings, and what there is to choose from. */
export interface NotificationChoices {
  settings: NotificationSettings;
  devices: DeviceRow[];
  /** The channels that send to members; null if the caller may not read channels. */
  channels: Channel[] | null;
  /** The other active members. */
  others: Member[];
}

/** How many members can be chosen as a delegate. */
const MAX_OTHERS = 500;

/** Loads what the section shows; null for a caller who is no member. */
export async function loadNotifications(context: UserContext): Promise<NotificationChoices | null> {
  const { principal, reader } = context;
  const { member, account } = principal;
  if (!member) return null;
  const [[rows, devices], channels, members] = await Promise.all([
    reader.load([
      selectSettings(reader, account.number, member.id),
      selectDevices(reader, account.number, member.id),
    ]),
    principal.scopes.includes('channels:read') ? listMailChannels(context) : null,
    listMembers(context, { limit: MAX_OTHERS, status: 'active' }),
  ]);
  return {
    settings: await getNotificationSettings(context, { rows, devices }),
    devices,
    channels,
    others: members.data.filter(({ id }) => id !== member.id),
  };
}

async function listMailChannels(context: UserContext): Promise<Channel[]> {
  const { data } = await listChannels(context, { limit: MAX_CHANNELS });
  return data.filter(({ kind }) => kind === 'email');
}

/**
 * Preloads what a change needs: the settings of the member, and those channels of the form that the
 * account has.
 */
export async function preloadFormNotifications(
  c: RequestContext,
  reader: Reader,
  account: SQL<number>,
  callerId: SQL,
) {
  const ids = (await readForm(c)).list('channels').flatMap((id) => parseId('chan', id) ?? []);
  return {
    settings: selectSettings(reader, account, callerId),
    devices: selectDevices(reader, account, callerId),
    chosen: ids.length > 0 ? selectChannels(reader, account, ids.slice(0, MAX_CHANNELS)) : null,
  };
}

type ChangeContext = PreloadedContext<typeof preloadFormNotifications>;

/**
 * Changes what differs from the member's settings.
 * @returns why that was refused, with what the form said; null if it was not
 */
export async function changeNotifications(c: ChangeContext): Promise<RefusedNotifications | null> {
  const { context } = c.var.signedIn;
  const form = await readForm(c);
  const fields = readFields(form);
  const { settings: rows = [], devices = [], chosen: found = [] } = c.var.loaded;
  const settings = await getNotificationSettings(context, { rows, devices });
  try {
    // A page that shows no channels changes nothing about them.
    const before = settingsOf({ ...fieldsOf(settings, fields.offered), offered: fields.offered });
    const changed = changedFields(before, settingsOf(fields));
    if (Object.keys(changed).length > 0) {
      requireUnchanged('choice', form, settings.updated_at ?? '', inWords(settings), changed);
      const input = validate(NotificationSettingsUpdate(), changed);
      await updateNotificationSettings(context, { found, devices, ...input });
    }
    return null;
  } catch (error) {
    return { fields, refusal: refusalOf(error) };
  }
}

export interface RefusedNotifications {
  fields: NotificationFields;
  refusal: Refusal;
}

/** The fields of the form. */
interface NotificationFields {
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

function readFields(form: SentForm): NotificationFields {
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
function fieldsOf(
  { channels, events, quiet_hours, delegate }: NotificationSettings,
  offered: string[],
) {
  const { start = '', end = '', time_zone: timeZone = '' } = quiet_hours ?? {};
  const isChosen = (id: string) => channels?.some((chosen) => chosen === id) ?? true;
  return {
    channels: offered.filter(isChosen),
    offered,
    events: events ?? CHOSEN_EVENTS.map(([event]) => event),
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
function settingsOf(fields: NotificationFields): Record<string, Json> {
  const { channels, offered, events, start, end, timeZone, delegate, firstDay, lastDay } = fields;
  const settings: Record<string, Json> = { events, quiet_hours: null, delegate: null };
  if (CHOSEN_EVENTS.every(([event]) => events.includes(event))) settings.events = null;
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
function inWords({
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

/** The names of time zones, of which one is suggested while it is typed. */
const timeZones = lazy(() => [
  'UTC',
  ...Intl.supportedValuesOf('timeZone').filter((name) => name !== 'UTC'),
]);

interface NotificationsProps extends Omit<NotificationChoices, 'devices'> {
  refused: RefusedNotifications | undefined;
}

/** The section with which a member chooses what reaches them, when, and who gets it instead. */
export function Notifications({ settings, channels, others, refused }: NotificationsProps) {
  const offered = (channels ?? []).map(({ id }) => id);
  const fields = refused?.fields ?? fieldsOf(settings, offered);
  return (
    <Section name="notifications" id="notifications" title="Notifications">
      <p class="soft">
        The channels of the account and your own devices notify you of requests that you can decide,
        and of what becomes of your agents’ requests.
      </p>
      <Form action="/console/me/notifications" refusal={refused?.refusal}>
        <ShownState updatedAt={settings.updated_at ?? ''} />
        {channels?.length === 0 && (
          <p class="hint">
            The account has no channel for e-mail yet. What you choose here counts for your devices,
            and for mail once there is one.
          </p>
        )}
        {channels && channels.length > 0 && (
          <FieldGroup legend="Channels that may write to me" path="channels">
            {channels.map(({ id, name }) => (
              <>
                <input type="hidden" name="offered" value={id} />
                <CheckBox
                  name="channels"
                  value={id}
                  checked={fields.channels.includes(id)}
                  label={<Written text={name} />}
                />
              </>
            ))}
          </FieldGroup>
        )}
        <FieldGroup legend="What I am notified of" path="events">
          {CHOSEN_EVENTS.map(([event, meaning]) => (
            <CheckBox
              name="events"
              value={event}
              checked={fields.events.includes(event)}
              label={meaning}
            />
          ))}
        </FieldGroup>
        <QuietHours {...fields} />
        <Delegate {...fields} others={others} />
        <Submit label="Save" />
      </Form>
    </Section>
  );
}

function QuietHours({ start, end, timeZone }: NotificationFields) {
  return (
    <fieldset>
      <legend>Quiet hours</legend>
      <p class="hint">
        You get no messages in these hours, but for those about a disabled webhook. They are sent
        when the hours end. Leave both fields empty for no quiet hours.
      </p>
      <div class="fields">
        <TextField
          label="From"
          name="quiet_start"
          path="quiet_hours.start"
          type="time"
          value={start}
        />
        <TextField label="Until" name="quiet_end" path="quiet_hours.end" type="time" value={end} />
      </div>
      <TextField
        label="Time zone"
        name="time_zone"
        path="quiet_hours.time_zone"
        value={timeZone}
        list="time-zones"
        isTimeZone
        autocomplete="off"
        placeholder="Europe/Berlin"
      />
      <GroupFault path="quiet_hours" />
      <datalist id="time-zones">
        {timeZones().map((name) => (
          <option value={name} />
        ))}
      </datalist>
    </fieldset>
  );
}

function Delegate({
  delegate,
  firstDay,
  lastDay,
  others,
}: NotificationFields & { others: Member[] }) {
  const options = others.map(({ id, name, email }): [string, string] => [id, name ?? email ?? id]);
  return (
    <fieldset>
      <legend>While I am away</legend>
      <p class="hint">
        The delegate gets your messages instead of you, and can decide what their own role allows.
        Without days this holds until you choose nobody. Days are in UTC.
      </p>
      <SelectField
        label="Delegate"
        name="delegate"
        path="delegate.member_id"
        value={delegate}
        options={addMissingOption([['', 'Nobody'], ...options], delegate)}
      />
      <div class="fields">
        <TextField
          label="First day (optional)"
          name="first_day"
          path="delegate.from"
          type="date"
          value={firstDay}
        />
        <TextField
          label="Last day (optional)"
          name="last_day"
          path="delegate.until"
          type="date"
          value={lastDay}
        />
      </div>
      <GroupFault path="delegate" />
    </fieldset>
  );
}

/** Says why fields were refused that belong together. */
function GroupFault({ path }: { path: string }) {
  return <FieldFault text={useRefusal()?.faults.get(path)} />;
}
