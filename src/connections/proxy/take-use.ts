import type { AgentContext } from '../../http/context';
import type { GrantedToken, PermissionRow } from '../../permissions/permission';
import { countUse, draftUse, usesLeftGuard } from '../../permissions/tokens/count-use';
import type { ConnectionRow } from '../connection';
import { connectionGuard } from './guards';
import { isOutdated } from './outdated';
import { type UsedPermission, untilCertain } from './use-mark';

/** Another call took the use at the same time. Nothing was written. */
class UseTaken extends Error {}

/**
 * Takes the use of an approved permission for a call, in the name of the connection.
 * @returns null if the permission or the connection changed after they were read
 */
export async function takeUseForCall(
  context: AgentContext,
  connection: ConnectionRow,
  { row, token }: { row: PermissionRow; token: GrantedToken },
): Promise<UsedPermission | null> {
  const now = context.runtime.now();
  const use = draftUse(context, row, token);
  const used = { id: row.id, account: row.account, use };
  try {
    const isCommitted = await untilCertain(context, used, async () => {
      const committed = await context.ledger.commit({
        guards: [connectionGuard(connection), usesLeftGuard(row, now, () => new UseTaken())],
        changes: (write) => [countUse(write, row, { usedBy: connection.id, now })],
        entries: [use],
        answer: null,
      });
      return committed !== null;
    });
    return isCommitted === false ? null : used;
  } catch (error) {
    if (error instanceof UseTaken || isOutdated(error)) return null;
    throw error;
  }
}
