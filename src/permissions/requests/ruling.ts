import type { Statement } from '../../db/statements';
import type { Entry } from '../../ledger/entry';
import type { Guard } from '../../ledger/guard';
import type { StateWriter } from '../../ledger/ledger';
import type { PermissionRow } from '../permission';
import type { ReviewState } from '../reviews/review';

/** The first state of a new request: it is decided at once, or it waits for people. */
export type Ruling = InstantDecision | Wait;

/** A policy or a series decides the request at once. */
export interface InstantDecision {
  kind: 'decided';
  /** The columns of the permission that it sets. */
  columns: Partial<PermissionRow> & { status: 'approved' | 'denied' };
  entry: Entry;
  /** The entry of the use, if an approved request takes it at once. */
  useEntry?: Entry;
  /**
   * The condition for storing the request. With the error {@link RulingOutdated} the request is
   * weighed again.
   */
  guard?: Guard;
  /** Makes the statement that counts the approval, in the transaction that stores it. */
  countApproval?: (write: StateWriter) => Statement;
}

/** The request waits for people. */
export interface Wait {
  kind: 'waits';
  /** Null if anybody who may decide can. */
  review: ReviewState | null;
}

/** A policy or series of the ruling has changed before it was stored. Nothing was written. */
export class RulingOutdated extends Error {}
