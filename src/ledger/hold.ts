import { type Column, type Placeholder, type SQL, sql } from 'drizzle-orm';
import { moves } from '../db/schema';
import { Problem } from '../errors';
import { type Guard, prepareGuard } from './guard';

// At the end of an account's move to another shard the account is held for a moment: nothing of it
// changes on this shard, so that the rest of it can be copied. It can still be read.

/** Accounts by their numbers; `all` is every account of the shard. */
export type Accounts = readonly (number | SQL<number>)[] | 'all';

/** A write to an account that is held for its move to another shard. Nothing was written. */
export class AccountHeld extends Problem {
  constructor() {
    super(
      'unavailable',
      'The account is moving to another database. It cannot be changed meanwhile. Try again in a moment.',
      { headers: { 'Retry-After': '1' } },
    );
  }
}

/** Whether an account is not held, as SQL. */
export function isNotHeld(account: number): SQL {
  return sql`not exists (
    select 1 from ${moves} where ${moves.account} = ${account} and ${moves.heldAt} is not null)`;
}

/** The guard of every write to accounts: none of them is held. */
export function holdGuard(accounts: Accounts): Guard {
  const otherwise = () => new AccountHeld();
  if (accounts === 'all') return { name: HOLD_GUARD, holds: sql`not exists (${HELD})`, otherwise };
  const [account] = accounts;
  if (accounts.length === 1 && typeof account === 'number')
    return accountHoldGuard({ account }, otherwise);
  return { name: HOLD_GUARD, holds: areNotHeld(accounts), otherwise };
}

const HOLD_GUARD = 'account_is_not_held';
const HELD = sql`select 1 from ${moves} where ${moves.heldAt} is not null`;

const accountHoldGuard = prepareGuard(HOLD_GUARD, () => areNotHeld([sql.placeholder('account')]));

function areNotHeld(accounts: readonly (number | SQL | Placeholder)[]): SQL {
  return sql`not exists (${HELD} and ${moves.account} in (${sql.join([...accounts], sql`, `)}))`;
}

/**
 * The guard of every erasure in accounts: none of them moves, because the new shard has copies of
 * the rows already.
 * @param accounts their numbers, as an SQL subquery
 */
export function movingGuard(accounts: SQL): Guard {
  return {
    name: 'account_does_not_move',
    holds: sql`not exists (select 1 from ${moves} where ${moves.account} in ${accounts})`,
    otherwise: () => new AccountHeld(),
  };
}

/** Whether an account neither leaves the shard nor arrives there, as SQL. */
export function isNotMoving(account: SQL | Column): SQL {
  return sql`${account} not in (select ${moves.account} from ${moves})`;
}
