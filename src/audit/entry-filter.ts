import type { SQL } from 'drizzle-orm';
import type { StoredEvent } from '../db/stored-events';
import type { Id } from '../lib/typeid';

/** The account of a log. */
export interface LogAccount {
  /** Its number, or SQL for it while the caller is not known. */
  number: number | SQL<number>;
}

/** A filter on the entries of a log. An id of null matches no entry. */
export interface EntryFilter {
  agent?: Id<'agent'> | SQL | null;
  permission?: Id<'perm'> | null;
  events?: readonly StoredEvent[];
  action?: string;
  /** Milliseconds since the epoch; `from` inclusive, `to` exclusive. */
  from: number | SQL<number>;
  to?: number;
  /** Sequence numbers; both exclusive. */
  after?: number;
  before?: number;
}
