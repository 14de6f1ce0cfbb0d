import { type SQL, sql } from 'drizzle-orm';
import {
  activity,
  connectionCalls,
  deliveries,
  permissionEvents,
  series,
  storedAnswers,
} from '../../db/schema';
import { DAY, HOUR } from '../../lib/time';
import { smallestIdAt } from '../../lib/typeid';
import {
  blob,
  type MovedAccount,
  type MovedTable,
  ofAccount,
  ofReceivers,
  ofSubjects,
  raw,
  renumberAccount,
  renumberAgent,
} from './moved-table';

/**
 * Milliseconds before the begin of the copy from which on a row may still be written: a call that
 * began earlier has ended long ago.
 */
export const WRITE_DELAY = HOUR;

/**
 * Milliseconds after which nothing of a request changes: it waits for a week at most, and its token
 * lives for another.
 */
const REQUEST_LIFETIME = 15 * DAY;

/** A table with rows that are final when the copy begins, and others that may still change. */
interface DividedTable extends MovedTable {
  /** The condition for the final rows. */
  isFinal: (account: MovedAccount) => SQL;
}

const events: DividedTable = {
  table: permissionEvents,
  ownRows: ofAccount,
  key: ['permission', 'event'],
  columnRules: renumberAccount,
  permissionColumn: 'permission',
  replaces: true,
  isFinal: ({ openSince }) =>
    sql`permission < ${blob(smallestIdAt('perm', openSince - REQUEST_LIFETIME))}`,
};

const activityRecords: DividedTable = {
  table: activity,
  ownRows: ofAccount,
  key: ['id'],
  columnRules: renumberAccount,
  isFinal: ({ reservedAt }) => sql`id < ${blob(smallestIdAt('act', reservedAt - WRITE_DELAY))}`,
};

const answers: DividedTable = {
  table: storedAnswers,
  ownRows: ofSubjects,
  key: ['subject', 'principal', 'key'],
  // The new shard may still have answers from before the account left it.
  replaces: true,
  isFinal: ({ reservedAt }) => sql`created_at < ${raw(reservedAt - WRITE_DELAY)}`,
};

const sentDeliveries: DividedTable = {
  table: deliveries,
  ownRows: ofReceivers,
  key: ['receiver', 'id'],
  columnRules: { ...renumberAgent, receiver: 'receiver', pos: 'position' },
  isFinal: ({ reservedAt }) => sql`coalesce(completed_at < ${raw(reservedAt - WRITE_DELAY)}, 0)`,
};

const expiredSeries: DividedTable = {
  table: series,
  ownRows: ofAccount,
  key: ['agent', 'live_until', 'permission'],
  columnRules: { ...renumberAccount, ...renumberAgent },
  isFinal: ({ reservedAt }) => sql`expires_at < ${raw(reservedAt - WRITE_DELAY)}`,
};

/**
 * Milliseconds after which another call no longer leads to a permission: its request waits for an
 * hour, and its token lives for 15 minutes.
 */
const CALL_LIFETIME = 2 * HOUR;

const calls: DividedTable = {
  table: connectionCalls,
  ownRows: ofAccount,
  key: ['connection', 'agent', 'name'],
  columnRules: { ...renumberAccount, ...renumberAgent },
  permissionColumn: 'permission',
  rowsOfPermissions: ({ number }, ids) => sql`(account, connection, agent, input_digest) in (
    select called.account, called.connection_id, called.agent, called.input_digest
    from permissions as called
    where called.account = ${raw(number)} and called.id in ${ids})`,
  // A later call of the same name replaces the row.
  replaces: true,
  isFinal: ({ reservedAt }) =>
    sql`permission < ${blob(smallestIdAt('perm', reservedAt - CALL_LIFETIME - WRITE_DELAY))}`,
};

/** The tables whose rows are final once they have a certain age. */
const dividedTables = [events, calls, expiredSeries, activityRecords, answers, sentDeliveries];

/** The final rows of these tables. */
export const finalRows = dividedTables.map(
  (table): MovedTable => ({ ...table, rowsToCopy: table.isFinal }),
);

/** The other rows of these tables. */
export const rowsThatMayChange = dividedTables.map(
  (table): MovedTable => ({ ...table, rowsToCopy: (moving) => sql`not ${table.isFinal(moving)}` }),
);
