import { and, eq, sql } from 'drizzle-orm';
import * as z from 'zod';
import { receivers } from '../../../db/schema';
import { invalidRequest, Problem } from '../../../errors';
import { userActivity } from '../../../http/activity';
import { newId, type UserContext } from '../../../http/context';
import { plainText, text } from '../../../http/fields';
import { requirePerson } from '../../../identity/sessions/require-person';
import { hasRow } from '../../../ledger/guard';
import { fromBase64Url } from '../../../lib/bytes';
import { type LazyOutput, lazy } from '../../../lib/lazy';
import { findTargetFault } from '../../../lib/target';
import { type Id, withPrefix } from '../../../lib/typeid';
import { openFeed } from '../../../outbox/feed';
import { newReceiverColumns } from '../../receiver';
import { MAX_URL_LENGTH } from '../../url-fault';
import { CHANNEL_EVENTS } from '../channel';
import {
  endpointDigest,
  isDeviceOf,
  MAX_DEVICES,
  type PushDevice,
  presentDevice,
  subscriptionColumns,
} from './device';
import { deriveVapidKeys } from './vapid';

const MAX_KEY_LENGTH = 100;
const PUBLIC_KEY_BYTES = 65;
const AUTH_BYTES = 16;

const ENDPOINT_DIGEST = sql`${receivers.config} ->> 'endpoint_digest'`;

const subscriptionFields = lazy(() => ({
  endpoint: plainText(MAX_URL_LENGTH),
  p256dh: plainText(MAX_KEY_LENGTH).refine(
    (value) => fromBase64Url(value)?.length === PUBLIC_KEY_BYTES,
    `must be ${PUBLIC_KEY_BYTES} bytes in base64url`,
  ),
  auth: plainText(MAX_KEY_LENGTH).refine(
    (value) => fromBase64Url(value)?.length === AUTH_BYTES,
    `must be ${AUTH_BYTES} bytes in base64url`,
  ),
  /** The public key of the service with which the browser subscribed. */
  key: plainText(MAX_KEY_LENGTH),
}));

/** The subscription of a browser that is not notified yet. */
export const DeviceSubscription = lazy(() =>
  z.strictObject({ name: text(1, 100), ...subscriptionFields() }),
);

/** The subscription with which a browser replaces its own. */
export const DeviceRenewal = lazy(() =>
  z.strictObject({ old_endpoint: plainText(MAX_URL_LENGTH), ...subscriptionFields() }),
);

type Subscription = LazyOutput<typeof DeviceRenewal>;

/**
 * Registers a push subscription of the signed-in member.
 * @throws Problem `person_required`, `invalid_request`; `conflict` if the member has the maximum
 *   number of devices, if this is one of them, or if its subscription was made with another key
 *   than the newest
 */
export async function subscribeDevice(
  context: UserContext,
  { name, key: vapidKey, ...subscription }: LazyOutput<typeof DeviceSubscription>,
): Promise<PushDevice> {
  const { principal, ledger, runtime, config } = context;
  const member = requirePerson(principal);
  await requireSubscription(context, { key: vapidKey, ...subscription });
  const account = principal.account.number;
  const id = newId(runtime, 'push');
  const columns = await subscriptionColumns({ keyring: config.keyring, runtime }, id, {
    subscription,
    key: vapidKey,
  });
  const row = {
    ...newReceiverColumns(context),
    ...columns,
    id: withPrefix('webhook', id),
    kind: 'push' as const,
    name,
    url: '',
    events: [...CHANNEL_EVENTS],
    isActive: true,
    member: member.id,
  };
  const isOwn = and(eq(receivers.account, account), eq(receivers.member, member.id));
  const isSameDevice = sql`${isOwn} and ${ENDPOINT_DIGEST} = ${columns.config.endpoint_digest}`;
  await ledger.change({
    record: userActivity(context, 'notifications.updated', id, { changes: ['push'] }),
    guards: [
      {
        name: 'device_is_new',
        holds: sql`not ${hasRow(receivers, isSameDevice)}`,
        otherwise: () =>
          new Problem('conflict', 'This device is notified already. Load the page again.'),
      },
      {
        name: 'devices_below_limit',
        holds: sql`(select count(*) from ${receivers} where ${isOwn}) < ${MAX_DEVICES}`,
        otherwise: () =>
          new Problem(
            'conflict',
            `You have ${MAX_DEVICES} devices, the maximum. Remove one first.`,
          ),
      },
    ],
    changes: (write) => [
      write.insert(receivers).values({ ...row, account }),
      ...openFeed(write, account),
    ],
    answer: null,
  });
  return presentDevice(row);
}

/**
 * Replaces the subscription of a device by another of the same browser. Only the browser knows the
 * endpoint that it had, so nobody can direct the messages elsewhere.
 * @throws Problem `person_required`, `invalid_request`; `conflict` if the device was removed or
 *   renewed meanwhile, or as {@link subscribeDevice}
 */
export async function renewDevice(
  context: UserContext,
  { id, old_endpoint, key: vapidKey, ...subscription }: { id: Id<'push'> } & Subscription,
): Promise<void> {
  const { principal, ledger, runtime, config } = context;
  const member = requirePerson(principal);
  await requireSubscription(context, { key: vapidKey, ...subscription });
  const account = principal.account.number;
  const columns = await subscriptionColumns({ keyring: config.keyring, runtime }, id, {
    subscription,
    key: vapidKey,
  });
  const found = and(
    isDeviceOf(account, member.id, id),
    sql`${ENDPOINT_DIGEST} = ${await endpointDigest(old_endpoint)}`,
  );
  await ledger.change({
    record: userActivity(context, 'notifications.updated', id, { changes: ['push'] }),
    guards: [
      {
        name: 'device_has_endpoint',
        holds: hasRow(receivers, found),
        otherwise: () =>
          new Problem(
            'conflict',
            'The device was removed, or renewed at the same time. Load the page again.',
          ),
      },
    ],
    changes: (write) => [
      write
        .update(receivers)
        .set({
          ...columns,
          // Resets the failure state, as `activation.ts` does for a new URL. A worker that still
          // sends to the old endpoint loses its claim.
          isSlow: true,
          failingSince: null,
          lease: null,
          dueAt: sql`iif(${receivers.dueAt} is null, null, ${runtime.now()})`,
          updatedAt: runtime.now(),
        })
        .where(found),
    ],
    answer: null,
  });
}

/** Refuses a subscription to which the service could send nothing. */
async function requireSubscription(
  { config }: UserContext,
  { endpoint, p256dh, key: vapidKey }: Omit<Subscription, 'old_endpoint'>,
): Promise<void> {
  const fault = findTargetFault(endpoint, config.delivery.allowInsecure);
  if (fault) throw invalidRequest([{ path: 'body.endpoint', message: fault }]);
  if (!(await isPoint(p256dh)))
    throw invalidRequest([{ path: 'body.p256dh', message: 'must be a point on P-256' }]);
  const [{ publicKey }] = await deriveVapidKeys(config.keyring);
  if (vapidKey === publicKey) return;
  throw new Problem(
    'conflict',
    'The service has another key since the page was loaded. Load the page again.',
  );
}

async function isPoint(p256dh: string): Promise<boolean> {
  const bytes = fromBase64Url(p256dh) ?? new Uint8Array();
  const algorithm = { name: 'ECDH', namedCurve: 'P-256' };
  return crypto.subtle.importKey('raw', bytes, algorithm, false, []).then(
    () => true,
    () => false,
  );
}
