import type { SQL } from 'drizzle-orm';
import type { ActivityAction } from '../db/schema';
import type { Id } from '../lib/typeid';

/** A note of what somebody did to the account, as it is stored. */
export interface ActivityRecord {
  id: Id<'act'>;
  /** The number of the account; as SQL, NULL, which the column refuses, where the target is not there. */
  account: number | SQL<number>;
  /** Id of the token that was used, or `operator`; null for a signed address. */
  actor: string | null;
  action: ActivityAction;
  target: string;
  /** Names of the fields that changed, never their values. */
  changes: string[];
  ipAddress: string;
  userAgent: string;
  createdAt: number;
}
