import {
  type DeviceRow,
  MAX_DEVICES,
  type PushDevice,
  presentDevice,
} from '../../receivers/channels/push/device';
import { usePage } from '../frame/page-context';
import { Section } from '../parts/blocks';
import { TextField } from '../parts/fields';
import { Action } from '../parts/form';
import { deviceName, Time, Written } from '../parts/inline';
import { SignInAgain } from '../parts/sign-in-again';

interface DevicesProps {
  devices: readonly DeviceRow[];
  /** Whether the session is that of a person, and not of a user token. */
  isPerson: boolean;
  userAgent: string;
}

/**
 * The devices on which a member is notified. Only the script can add the one that shows the page.
 */
export function Devices({ devices, isPerson, userAgent }: DevicesProps) {
  const mayAdd = isPerson && usePage().isRecentSignIn && devices.length < MAX_DEVICES;
  return (
    <Section name="push" id="push" title="Notifications on my devices">
      <p class="soft">
        The browser of a device notifies you of requests, even while no page is open. A notification
        says who asks for what and how much, but never the arguments. Your choices above apply to
        devices too. Notifications continue after you sign out, until you remove the device.
      </p>
      {devices.length > 0 && (
        <ul class="lines">
          {devices.map((device) => (
            <DeviceLine {...presentDevice(device)} />
          ))}
        </ul>
      )}
      {isPerson && (
        <div data-push data-with-script hidden>
          {mayAdd && (
            <div class="inline-form" data-push-form>
              <TextField
                label="Name of this device"
                name="device"
                value={deviceName(userAgent)}
                maxlength={100}
                autocomplete="off"
                required
              />
              <button type="button" class="quiet">
                Notify me on this device
              </button>
            </div>
          )}
          <p class="hint" data-push-state hidden></p>
        </div>
      )}
      {isPerson && (
        <div class="part" data-notify hidden>
          <button type="button" class="quiet" data-off="Stop the notifications of open pages">
            Notify me while a page is open
          </button>
          <p class="hint">
            Even if you add no device, this browser can notify you of new requests while a page of
            the console is open.
          </p>
        </div>
      )}
      {devices.length >= MAX_DEVICES && (
        <p class="hint">You have {MAX_DEVICES} devices, the maximum.</p>
      )}
      {isPerson && <SignInAgain page="/console/me" purpose="To add this device" />}
    </Section>
  );
}

function DeviceLine({ id, name, created_at }: PushDevice) {
  return (
    <li>
      <span>
        <Written text={name} />
        <small>
          added <Time at={created_at} />
        </small>
      </span>
      <Action action={`/console/me/push/${id}/remove`} label="Remove" />
    </li>
  );
}
