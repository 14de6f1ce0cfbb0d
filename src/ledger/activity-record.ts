import type { SQL } from 'drizzle-orm';
import type { ActivityAction } from '../db/schema';
import type { Id } from '../lib/typeid';

/** A record of what a person or the operator changed in an account, as it is stored. */
export interface ActivityRecord {
  id: Id<'act'>;
  /**
   * The account's number, or SQL that finds it. SQL yields NULL for a missing target, and the NOT NULL column aborts.
   */
  account: number | SQL<number>;
  /** The id of the user token, or `operator`; null for a download by signed address. */
  actor: string | null;
  action: ActivityAction;
  target: string;
  /** The names of the changed fields, never their values. */
  changes: string[];
  ipAddress: string;
  userAgent: string;
  createdAt: number;
}
