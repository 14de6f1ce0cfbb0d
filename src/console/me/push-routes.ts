import { Hono } from 'hono';
import type { AppEnv, Reader, RequestContext } from '../../http/context';
import { body, noQuery } from '../../http/input';
import { pathId } from '../../http/path-id';
import type { CallerSql } from '../../identity/credentials';
import { withPrefix } from '../../lib/typeid';
import { type DeviceRow, deviceConfig, selectDevices } from '../../receivers/channels/push/device';
import { removePushDevice } from '../../receivers/channels/push/remove';
import {
  DeviceRenewal,
  DeviceSubscription,
  renewDevice,
  subscribeDevice,
} from '../../receivers/channels/push/subscribe';
import { consoleAccess } from '../session/access';
import { redirectWithFlash } from '../session/flash';

const NOT_STORED = { 'Cache-Control': 'no-store' };

const PATH = '/console/me/push';

const READ = 'account:read';

async function preloadDevices(_: RequestContext, reader: Reader, { account, id }: CallerSql) {
  return { devices: selectDevices(reader, account, id) };
}

/** The values by which a browser finds itself among the devices of a member. */
function knownDevice(device: DeviceRow) {
  return { id: withPrefix('push', device.id), digest: deviceConfig(device).endpoint_digest };
}

/**
 * The addresses with which a member changes on which devices they are notified. Only a script can
 * subscribe a browser. A renewal needs no recent sign-in: the browser proves that it is the same.
 */
export const pushRoutes = new Hono<AppEnv>()
  .get(PATH, consoleAccess(READ, preloadDevices), noQuery(), (c) =>
    c.json({ devices: (c.var.loaded.devices ?? []).map(knownDevice) }, 200, NOT_STORED),
  )
  .post(
    PATH,
    consoleAccess(READ, undefined, { needsRecentSignIn: true }),
    noQuery(),
    body(DeviceSubscription),
    async (c) => c.json(await subscribeDevice(c.var.signedIn.context, c.req.valid('json')), 201),
  )
  .post(`${PATH}/:id`, consoleAccess(READ), noQuery(), body(DeviceRenewal), async (c) => {
    const id = pathId(c, 'push', 'device');
    await renewDevice(c.var.signedIn.context, { id, ...c.req.valid('json') });
    return c.body(null, 204);
  })
  .post(`${PATH}/:id/remove`, consoleAccess(READ), noQuery(), async (c) => {
    await removePushDevice(c.var.signedIn.context, { id: pathId(c, 'push', 'device') });
    return redirectWithFlash(c, '/console/me', 'ended');
  });
