import { Hono } from 'hono';
import * as z from 'zod';
import type { Runtime } from '../env';
import { sharedAccess } from '../http/access';
import type { Context } from '../http/context';
import { queryNumber } from '../http/fields';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { lazy } from '../lib/lazy';
import { SECOND } from '../lib/time';
import {
  Permission,
  type PermissionRow,
  permissionOfPath,
  presentPermission,
  statusAt,
  visiblePermission,
} from './permission';
import { signActiveTokens } from './tokens/sign-active-tokens';

const PermissionQuery = lazy(() =>
  z.strictObject({
    wait: queryNumber(0, 25)
      .default(0)
      .meta({ description: 'Seconds to hold the answer until the permission is decided.' }),
  }),
);

/** Pauses between two looks at a permission that somebody waits for. */
const PAUSES = [0.5 * SECOND, SECOND, 2 * SECOND, 3 * SECOND, 4 * SECOND];
const LAST_PAUSE = 5 * SECOND;

/**
 * Shows a permission, at once or, with `wait` seconds, as soon as it is decided.
 * @param loaded what the authentication brought of it
 * @param reload authenticates anew and brings it again: whoever waits may have lost the right to it meanwhile
 * @param clock the running clock
 */
export async function getPermission(
  context: Context,
  loaded: PermissionRow[] | undefined,
  reload: () => Promise<PermissionRow[] | undefined>,
  clock: Pick<Runtime, 'now' | 'sleep'>,
  { wait }: z.output<ReturnType<typeof PermissionQuery>>,
): Promise<Permission> {
  const { principal } = context;
  let row = visiblePermission(loaded, principal);
  let left = wait * SECOND;
  for (let look = 0; left > 0 && statusAt(row, clock.now()) === 'pending'; look++) {
    const pause = Math.min(PAUSES[look] ?? LAST_PAUSE, left);
    await clock.sleep(pause);
    left -= pause;
    row = visiblePermission(await reload(), principal);
  }
  const now = clock.now();
  const values = await signActiveTokens(context, [row], now);
  return presentPermission(row, now, values.get(row.id));
}

export const getPermissionRoute = new Hono().get(
  '/v1/permissions/:id',
  operation({
    id: 'getPermission',
    tag: 'Permissions',
    summary: 'Get a permission, or wait for its decision',
    description: 'An agent sees its own permissions, and in them the tokens that are active.',
    success: ok(Permission),
    pathId: 'perm',
  }),
  sharedAccess('permissions:read', permissionOfPath),
  query(PermissionQuery),
  async (c) => {
    const { context, loaded, reload, runtime } = c.var;
    return answer(c, await getPermission(context, loaded, reload, runtime, c.req.valid('query')));
  },
);
