import { listMembers } from '../../accounts/members/list';
import type { Member } from '../../accounts/members/member';
import type { Reader, RequestContext, UserContext } from '../../http/context';
import type { CallerSql } from '../../identity/credentials';
import { lazy } from '../../lib/lazy';
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
import {
  changedFields,
  readForm,
  refusalOf,
  requireUnchanged,
  ShownState,
  validate,
} from '../frame/form';
import { Section } from '../parts/blocks';
import {
  addMissingOption,
  CheckBox,
  FieldFault,
  FieldGroup,
  SelectField,
  TextField,
} from '../parts/fields';
import { Form, Submit } from '../parts/form';
import { Written } from '../parts/inline';
import { useRefusal } from '../parts/refusal';
import { CHOSEN_BY_MEMBERS } from '../receivers/events';
import type { PreloadedContext } from '../session/access';
import {
  fieldsOf,
  inWords,
  type NotificationFields,
  type RefusedNotifications,
  readFields,
  settingsOf,
} from './notification-fields';

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
  { account, id }: CallerSql,
) {
  const form = await readForm(c);
  const channels = form.list('channels').flatMap((text) => parseId('chan', text) ?? []);
  const chosen = channels.slice(0, MAX_CHANNELS);
  return {
    settings: selectSettings(reader, account, id),
    devices: selectDevices(reader, account, id),
    chosen: chosen.length > 0 ? selectChannels(reader, account, chosen) : null,
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
        and of what happens to your agents’ requests.
      </p>
      <Form action="/console/me/notifications" refusal={refused?.refusal}>
        <ShownState updatedAt={settings.updated_at ?? ''} />
        {channels?.length === 0 && (
          <p class="hint">
            The account has no channel for e-mail yet. Your choices here apply to your devices, and
            to e-mail once there is such a channel.
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
          {CHOSEN_BY_MEMBERS.map(([event, meaning]) => (
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
        Messages wait until these hours end, except those about a disabled webhook. Leave both
        fields empty for no quiet hours.
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
        Without days, this lasts until you choose nobody. Days are in UTC.
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
