import { sql } from 'drizzle-orm';
import { codeOf } from './columns';
import { MOVE_DIRECTIONS, moves } from './schema';

/**
 * Excludes rows of accounts that are moving to this shard: the shard that they come from does their
 * background work.
 */
export const isAtHome = sql`account not in (
  select ${moves.account} from ${moves} where ${moves.direction} = ${codeOf(MOVE_DIRECTIONS, 'in')}
)`;
