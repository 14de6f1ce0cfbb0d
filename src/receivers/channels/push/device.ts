import { and, eq, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import type { Reader } from '../../../db/database';
import { receivers } from '../../../db/schema';
import type { Runtime } from '../../../env';
import { EXAMPLE, exampleId } from '../../../http/examples';
import { idField, timeField } from '../../../http/response-fields';
import { sha256, toBase64Url } from '../../../lib/bytes';
import { type LazyOutput, lazy } from '../../../lib/lazy';
import type { Keyring } from '../../../lib/secrets';
import { formatTime } from '../../../lib/time';
import { type Id, idBytes, withPrefix } from '../../../lib/typeid';
import type { ReceiverRow } from '../../receiver';

// A device of a member is a row of the table `receivers`: it has its own deliveries and its own
// state, so that one that is slow or gone delays no other.

/** Maximum number of devices of a member. */
export const MAX_DEVICES = 5;

/** A subscription to push messages as a browser makes it (Push API). */
export interface PushSubscription {
  /** The URL at the push service. Whoever has it can send to it, so it is a secret. */
  endpoint: string;
  /** The public key of the browser (RFC 8291 section 3.1), in base64url. */
  p256dh: string;
  /** The authentication secret (RFC 8291 section 3.2), in base64url. */
  auth: string;
}

/** The part of a subscription that is stored in plain text, beside the encrypted one. */
export interface DeviceConfig {
  /** SHA-256 of the endpoint, in base64url: the browser recognizes its own subscription by it. */
  endpoint_digest: string;
  /** The public key of the service with which the subscription was made. */
  key: string;
}

const exampleDevice = {
  id: exampleId('push'),
  name: 'Chrome on Android',
  created_at: EXAMPLE.time,
};

/** A device as the API shows it. */
export const PushDevice = lazy(() =>
  z.object({ id: idField('push'), name: z.string(), created_at: timeField }).meta({
    id: 'PushDevice',
    description: 'A device of yours that is notified by Web Push.',
    examples: [exampleDevice],
  }),
);

export type PushDevice = LazyOutput<typeof PushDevice>;

export const exampleDevices = [exampleDevice];

/** Selects the devices of a member, in the order in which they were added. */
export function selectDevices(
  reader: Reader,
  account: number | SQL<number>,
  member: Id<'member'> | SQL,
) {
  return reader
    .select({
      id: receivers.id,
      name: receivers.name,
      createdAt: receivers.createdAt,
      config: receivers.config,
    })
    .from(receivers)
    .where(and(eq(receivers.account, account), eq(receivers.member, member)))
    .orderBy(receivers.id);
}

export type DeviceRow = ReturnType<typeof selectDevices>['_']['result'][number];

/** The condition that finds the device with this identifier, if the member has it. */
export function isDeviceOf(account: number, member: Id<'member'>, id: Id<'push'>) {
  return and(
    eq(receivers.account, account),
    eq(receivers.member, member),
    eq(receivers.id, withPrefix('webhook', id)),
  );
}

export function presentDevice({
  id,
  name,
  createdAt,
}: Pick<DeviceRow, 'id' | 'name' | 'createdAt'>): PushDevice {
  return { id: withPrefix('push', id), name: name ?? '', created_at: formatTime(createdAt) };
}

/** The `config` of the row of a device. */
export function deviceConfig({ config }: Pick<DeviceRow, 'config'>): DeviceConfig {
  return config as unknown as DeviceConfig;
}

/** SHA-256 of an endpoint, in base64url. */
export async function endpointDigest(endpoint: string): Promise<string> {
  return toBase64Url(await sha256(endpoint));
}

/** The columns of a device that hold its subscription. */
export async function subscriptionColumns(
  { keyring, runtime }: { keyring: Keyring; runtime: Pick<Runtime, 'random'> },
  id: Id<'push'>,
  { subscription, key }: { subscription: PushSubscription; key: string },
) {
  const { endpoint, p256dh, auth } = subscription;
  const text = JSON.stringify({ endpoint, p256dh, auth });
  return {
    config: { endpoint_digest: await endpointDigest(endpoint), key },
    secret: await keyring.encrypt('push-subscription', idBytes(id), runtime.random, text),
  };
}

/** Decrypts the subscription of a device; null if its root secret is gone. */
export async function openSubscription(
  keyring: Keyring,
  { id, secret }: Pick<ReceiverRow, 'id' | 'secret'>,
): Promise<PushSubscription | null> {
  const text = await keyring.decrypt('push-subscription', idBytes(id), secret);
  return text === null ? null : JSON.parse(text);
}
