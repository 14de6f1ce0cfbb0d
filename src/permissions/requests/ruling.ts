import type { Statement } from '../../db/database';
import type { Entry } from '../../ledger/entry';
import type { Guard } from '../../ledger/guard';
import type { StateWriter } from '../../ledger/ledger';
import type { PermissionRow } from '../permission';
import type { ReviewState } from '../reviews/review';

/** What becomes of a new request at once: it is decided, or it waits for people. */
export interface Ruling {
  /** The columns of the permission that it sets. */
  columns: Partial<PermissionRow> & Pick<PermissionRow, 'status'>;
  /** The entry of the decision; none if the request waits. */
  entry?: Entry;
  /** The entry of the use, if an approved request takes it at once. */
  use?: Entry;
  /** The review that the request waits for; none if anybody who may decide can. */
  review?: ReviewState;
  /**
   * What must hold when the request is stored. With the error {@link RulingOutdated} the request is
   * weighed again.
   */
  guard?: Guard;
  /** Makes the statement that counts the approval, in the transaction that stores it. */
  count?: (write: StateWriter) => Statement;
}

/** What a ruling was based on has changed before it was stored. Nothing was written. */
export class RulingOutdated extends Error {}
