import type { Statement } from '../../db/statements';
import type { Entry } from '../../ledger/entry';
import type { Guard } from '../../ledger/guard';
import type { StateWriter } from '../../ledger/ledger';
import type { PermissionRow } from '../permission';
import type { ReviewState } from '../reviews/review';

/** The first state of a new request: it is decided at once, or it waits for people. */
export interface Ruling {
  /** The columns of the permission that it sets. */
  columns: Partial<PermissionRow> & Pick<PermissionRow, 'status'>;
  /** The entry of the decision; none if the request waits. */
  entry?: Entry;
  /** The entry of the use, if an approved request takes it at once. */
  useEntry?: Entry;
  /** The review that the request waits for; none if anybody who may decide can. */
  review?: ReviewState;
  /**
   * The condition for storing the request. With the error {@link RulingOutdated} the request is
   * weighed again.
   */
  guard?: Guard;
  /** Makes the statement that counts the approval, in the transaction that stores it. */
  countApproval?: (write: StateWriter) => Statement;
}

/** A policy or series of the ruling has changed before it was stored. Nothing was written. */
export class RulingOutdated extends Error {}
