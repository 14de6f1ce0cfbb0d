import { sql } from 'drizzle-orm';
import { accounts, type EventType } from '../db/schema';
import { Problem } from '../errors';
import type { Entry } from './entry';
import { type Guard, prepareGuard } from './guard';

// A stopped account asks for nothing, approves nothing and uses nothing until it is resumed. Each
// transaction that writes one of these checks the account again, so no such write commits after the
// stop. Denials, withdrawals, revocations and the ends of what expires go on.

/** The events that a stopped account does not write. */
const STOPPED_EVENTS: readonly EventType[] = ['request', 'approve', 'use'];

/** The account is stopped. Nothing was written. */
export class AccountStopped extends Problem {
  constructor() {
    super(
      'account_stopped',
      'The account is stopped: nothing may be requested, approved or used. Do not act. Somebody ' +
        'with the scope `account:write` can resume it.',
    );
  }
}

/** @throws Problem `account_stopped` if the account was stopped when it was last read */
export function requireNotStopped({ isStopped }: { isStopped: boolean }): void {
  if (isStopped) throw new AccountStopped();
}

/** The guard of every write that a stopped account must not make. */
export function stopGuard(account: number): Guard {
  return accountStopGuard({ account }, () => new AccountStopped());
}

const accountStopGuard = prepareGuard(
  'account_is_not_stopped',
  () => sql`not exists (
    select 1 from ${accounts}
    where ${accounts.number} = ${sql.placeholder('account')} and ${accounts.stoppedAt} is not null)`,
);

/** The guards of the accounts that entries request, approve or use something in. */
export function stopGuards(entries: readonly Entry[]): Guard[] {
  const stoppable = entries.filter(({ event }) => STOPPED_EVENTS.includes(event));
  return [...new Set(stoppable.map(({ account }) => account))].map(stopGuard);
}
