import { Hono } from 'hono';
import { z } from 'zod';
import { sharedAccess } from '../http/access';
import type { Context } from '../http/context';
import { queryNumber } from '../http/fields';
import { query } from '../http/input';
import { SECOND } from '../lib/time';
import {
  findPermission,
  type Permission,
  type PermissionRow,
  permissionOfPath,
  presentPermission,
  statusAt,
  visiblePermission,
} from './permission';
import { tokenValues } from './token-value';

const PermissionQuery = z.strictObject({ wait: queryNumber(0, 25).default(0) });

/** Pauses between two looks at a permission that somebody waits for; the last one repeats. */
const PAUSES = [0.5 * SECOND, SECOND, 2 * SECOND, 3 * SECOND, 4 * SECOND, 5 * SECOND];

/**
 * Shows a permission, at once or, with `wait` seconds, as soon as it is decided.
 * @param loaded what the authentication brought of it
 */
export async function getPermission(
  context: Context,
  loaded: PermissionRow[] | undefined,
  { wait }: z.output<typeof PermissionQuery>,
): Promise<Permission> {
  const { runtime, principal, reader } = context;
  const deadline = runtime.now() + wait * SECOND;
  let row = visiblePermission(loaded, principal);
  for (let look = 0; statusAt(row, runtime.now()) === 'pending'; look++) {
    const left = deadline - runtime.now();
    if (left <= 0) break;
    const pause = PAUSES[Math.min(look, PAUSES.length - 1)] ?? left;
    await runtime.sleep(Math.min(pause, left));
    const [rows] = await reader.load([findPermission(reader, principal.account.number, row.id)]);
    row = visiblePermission(rows, principal);
  }
  const now = runtime.now();
  const values = await tokenValues(context, [row], now);
  return presentPermission(row, now, values.get(row.id));
}

export const permissionDetail = new Hono().get(
  '/v1/permissions/:id',
  sharedAccess('permissions:read', permissionOfPath),
  query(PermissionQuery),
  async (c) => c.json(await getPermission(c.var.context, c.var.loaded, c.req.valid('query'))),
);
