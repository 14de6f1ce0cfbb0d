import { Hono } from 'hono';
import { notFound } from '../../errors';
import type { AppEnv } from '../../http/context';
import { body, noQuery } from '../../http/input';
import { fromBase64Url, toBase64Url } from '../../lib/bytes';
import { consoleAccess, consoleRoute } from '../session/access';
import { addPasskey, getPasskeyOptions, PasskeyCreation } from './add-passkey';
import { removePasskey } from './remove-passkey';

const PATH = '/console/me/passkeys';

/** The addresses that the page's script uses: only a script can make a passkey. */
export const passkeyRoutes = new Hono<AppEnv>()
  .post(`${PATH}/options`, consoleRoute, consoleAccess(null), noQuery(), async (c) =>
    c.json(await getPasskeyOptions(c.var.signedIn)),
  )
  .post(PATH, consoleRoute, consoleAccess(null), noQuery(), body(PasskeyCreation), async (c) =>
    c.json(await addPasskey(c.var.signedIn, c.req.valid('json')), 201),
  )
  .delete(`${PATH}/:id`, consoleRoute, consoleAccess(null), noQuery(), async (c) => {
    const id = fromBase64Url(c.req.param('id'));
    if (!id || toBase64Url(id) !== c.req.param('id')) throw notFound('passkey');
    await removePasskey(c.var.signedIn, id);
    return c.body(null, 204);
  });
