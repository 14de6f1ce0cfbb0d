import type { Database } from '../../db/database';
import type { Runtime } from '../../env';
import { serviceAuthority } from '../../ledger/authority';
import { Ledger } from '../../ledger/ledger';
import { logFailure } from '../../lib/log';
import { SECOND } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import { storeOutcome } from '../../permissions/outcomes/report';

/** The outcome of an act that the service has sent, as far as it knows. */
export interface ActOutcome {
  status: 'succeeded' | 'failed' | 'unknown';
  summary: string;
}

/** The database in which an account is, and the account's number there. */
export interface FoundAccount {
  database: Database;
  account: number;
}

/** The pauses before the outcome is tried to be stored again, in milliseconds. */
const PAUSES = [SECOND, 4 * SECOND, 15 * SECOND];

/**
 * Stores the outcome of an act, as the word of the service: also where the agent's key has ended
 * meanwhile. If the database fails, tries again. If all tries fail, the outcome stays awaited,
 * until it becomes unknown.
 * @param find finds the account, which may have moved
 */
export async function recordOutcome(
  { runtime, find }: { runtime: Runtime; find: () => Promise<FoundAccount> },
  id: Id<'perm'>,
  { status, summary }: ActOutcome,
): Promise<void> {
  const store = async () => {
    const { database, account } = await find();
    const now = runtime.now();
    const ledger = new Ledger(database, serviceAuthority([account]));
    const outcome = { state: status, summary, reportedAt: now, updatedAt: now };
    return await storeOutcome(ledger, { account, id }, outcome);
  };
  for (const pause of [...PAUSES, null]) {
    try {
      const isStored = await store();
      // The permission may be on another shard by now: looks once more where the account is.
      if (!isStored) await store();
      return;
    } catch (error) {
      if (pause === null) {
        logFailure('outcome_not_recorded', error, { permission: id });
        return;
      }
      await runtime.sleep(pause);
    }
  }
}
