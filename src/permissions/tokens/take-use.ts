import { type SQL, sql } from 'drizzle-orm';
import { permissions } from '../../db/schema';
import type { Context } from '../../http/context';
import type { Entry } from '../../ledger/entry';
import type { Guard } from '../../ledger/guard';
import { userOfToken } from '../draft-entry';
import { isPermissionWithId } from '../find-permission';
import { countUse } from './count-use';
import { type Grant, presentUse, type UsedToken } from './use-fields';

/**
 * Stores one use of a token of the caller's account with its entry, in one round trip.
 * @returns what the token allows; null if it ended, or its agent became inactive, at the same time
 * @throws the error of the guard, and what `Ledger.commit` throws; nothing was written
 */
export async function takeUse(
  { ledger, runtime, principal }: Context,
  { grant, entry, guard }: { grant: Grant; entry: Entry; guard: Guard },
): Promise<UsedToken | null> {
  const account = principal.account.number;
  const ofToken = (number: SQL) =>
    sql<number>`(select ${number} from ${permissions} where ${isPermissionWithId(account, grant.id)})`;
  const use = { usedBy: userOfToken(principal), now: runtime.now() };
  const committed = await ledger.commit({
    guards: [guard],
    changes: (write) => [countUse(write, { account, id: grant.id }, use)],
    entries: [entry],
    // The numbers of the stored answer are computed in the transaction, before the use is counted.
    answer: {
      value: presentUse(grant, { uses: 0, maxUses: 0 }),
      subject: grant.agentId,
      computed: {
        uses: ofToken(sql`token_uses + 1`),
        remaining_uses: ofToken(sql`token_max_uses - token_uses - 1`),
      },
    },
  });
  const { uses, maxUses } = committed?.[0][0] ?? {};
  if (typeof uses !== 'number' || typeof maxUses !== 'number') return null;
  return presentUse(grant, { uses, maxUses });
}
