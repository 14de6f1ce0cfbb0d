import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import { ERASURE_KINDS, erasures, receivers } from '../db/schema';
import type { Statement } from '../db/statements';
import type { InternalWriter } from '../ledger/ledger';
import { closeFeed } from './feed';

/**
 * Makes the statements that end devices of an account: nothing more is sent to them, and a cron
 * task erases their deliveries.
 * @param which the condition that finds the devices
 */
export function endDevices(
  write: Pick<InternalWriter, 'insert' | 'delete'>,
  account: number,
  which: SQL | undefined,
): readonly [Statement, Statement, Statement] {
  const isDevice = sql`${receivers.account} = ${account} and ${receivers.member} is not null and (${which})`;
  const ended = sql`
    select null, ${codeOf(ERASURE_KINDS, 'receiver')}, ${receivers.account}, ${receivers.number}, x'', 0
    from ${receivers} where ${isDevice}`;
  return [
    write.insert(erasures).select(ended),
    write.delete(receivers).where(isDevice),
    closeFeed(write, account),
  ];
}
