import { Hono } from 'hono';
import type { AppEnv } from '../../http/context';
import { body, noQuery } from '../../http/input';
import { pathId } from '../../http/path-id';
import { removePushDevice } from '../../receivers/channels/push/remove';
import {
  DeviceRenewal,
  DeviceSubscription,
  renewDevice,
  subscribeDevice,
} from '../../receivers/channels/push/subscribe';
import { consoleAccess } from '../session/access';
import { redirectAndTell } from '../session/told';

const PATH = '/console/me/push';

const READ = 'account:read';

/**
 * The addresses with which a member changes on which devices they are notified. Only a script can
 * subscribe a browser. A renewal needs no recent sign-in: the browser proves that it is the same.
 */
export const pushRoutes = new Hono<AppEnv>()
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
    return redirectAndTell(c, '/console/me#push', 'ended');
  });
