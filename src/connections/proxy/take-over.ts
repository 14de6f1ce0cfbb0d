import { connectionCalls } from '../../db/schema';
import type { AgentContext } from '../../http/context';
import type { Id } from '../../lib/typeid';
import type { PermissionRow } from '../../permissions/permission';
import type { CallLookup } from './earlier-calls';

/**
 * Stores that a call leads to a permission which an equal call asked for before. If the call leads
 * somewhere already, that stays.
 */
export async function takeOver(
  { ledger }: AgentContext,
  {
    connection,
    lookup,
    inputDigest,
    permission: { account, agent, id },
  }: {
    connection: Id<'conn'>;
    lookup: CallLookup;
    /** The digest of the call's input, which is also that of the equal call. */
    inputDigest: string;
    permission: PermissionRow;
  },
): Promise<void> {
  await ledger.write({
    changes: (write) => [
      write
        .insert(connectionCalls)
        .values({
          account,
          connection,
          agent,
          name: lookup.name,
          permission: id,
          inputDigest,
        })
        .onConflictDoNothing(),
    ],
  });
}
