import { Hono } from 'hono';
import * as z from 'zod';
import type { Runtime } from '../env';
import { sharedAccess } from '../http/access';
import type { Context } from '../http/context';
import { queryNumber } from '../http/fields';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { type LazyOutput, lazy } from '../lib/lazy';
import { SECOND } from '../lib/time';
import {
  type PermissionWithContents,
  preloadPermissionWithContents,
  presentContents,
} from './contents';
import { requirePermission } from './find-permission';
import { Permission, presentPermission, statusAt } from './permission';
import { signActiveTokens } from './tokens/sign-active-tokens';
import { pauseAfter } from './wait';

/** How long a client may wait for a decision at most, in seconds. */
export const MAX_WAIT = 25;

const PermissionQuery = lazy(() =>
  z.strictObject({
    wait: queryNumber(0, MAX_WAIT).default(0).meta({
      description: 'The greatest number of seconds that the answer waits for the decision.',
    }),
  }),
);

interface WaitingContext extends Context {
  /**
   * The running clock. The clock of the context's `runtime` stands still while the request is
   * handled.
   */
  clock: Pick<Runtime, 'now' | 'sleep'>;
  /**
   * Authenticates the caller again, then reads the permission again. The caller may have lost
   * access during the wait.
   */
  reload: () => Promise<PermissionWithContents | undefined>;
}

/**
 * Reads a permission, with its active token if the caller is its agent. As long as it is pending,
 * waits up to `wait` seconds for the decision.
 * @throws Problem `not_found`; after a wait also the problems of the authentication
 */
export async function getPermission(
  context: WaitingContext,
  {
    permission,
    wait,
  }: { permission: PermissionWithContents | undefined } & LazyOutput<typeof PermissionQuery>,
): Promise<Permission> {
  const { principal, clock, reload } = context;
  let row = requirePermission(principal, permission);
  let left = wait * SECOND;
  for (let reads = 0; left > 0 && statusAt(row, clock.now()) === 'pending'; reads++) {
    const pause = Math.min(pauseAfter(reads), left);
    await clock.sleep(pause);
    left -= pause;
    row = requirePermission(principal, await reload());
  }
  const now = clock.now();
  const tokens = await signActiveTokens(context, [row], now);
  return { ...presentPermission(row, now, principal, tokens.get(row.id)), ...presentContents(row) };
}

export const getPermissionRoute = new Hono().get(
  '/v1/permissions/:id',
  operation({
    id: 'getPermission',
    tag: 'Permissions',
    summary: 'Get a permission, or wait for its decision',
    description: 'An agent sees only its own permissions, with their active tokens.',
    success: ok(Permission),
    pathId: 'perm',
  }),
  sharedAccess('permissions:read', preloadPermissionWithContents),
  query(PermissionQuery),
  async (c) => {
    const { loaded, reload, runtime } = c.var;
    const context = {
      ...c.var.context,
      clock: runtime,
      reload: async () => (await reload()).permission?.[0],
    };
    return answer(
      c,
      await getPermission(context, { permission: loaded.permission?.[0], ...c.req.valid('query') }),
    );
  },
);
