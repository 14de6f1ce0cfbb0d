import { sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { PERMISSION_STATUSES, pendingPermissions } from '../../db/schema';
import { Problem } from '../../errors';
import { type Guard, prepareGuard } from '../../ledger/guard';
import type { EntrySubject } from '../draft-entry';

/** Maximum number of pending requests of an account. */
export const MAX_PENDING_REQUESTS = 10_000;
/**
 * Maximum number of pending requests of one agent, so that no agent uses up the account's quota.
 */
export const MAX_PENDING_REQUESTS_OF_AGENT = 1_000;

/** The agent or the account has the maximum number of pending requests. Nothing was written. */
export class PendingQuotaFull extends Problem {
  constructor() {
    super(
      'conflict',
      `The agent has ${MAX_PENDING_REQUESTS_OF_AGENT} pending requests, or the account ${MAX_PENDING_REQUESTS}: the maximum. Decide some, or ` +
        'wait until they expire.',
    );
  }
}

/** The guard of a request that waits: neither its agent nor the account has too many. */
export function pendingQuotaGuard({ agent, account }: EntrySubject): Guard {
  return quotaGuard({ agent, account }, () => new PendingQuotaFull());
}

const quotaGuard = prepareGuard('pending_requests_below_quota', () => {
  const ofAccount = sql`coalesce((
    select count from ${pendingPermissions} where account = ${sql.placeholder('account')}
  ), 0)`;
  // Reads at most the quota's number of rows.
  const isFullForAgent = sql`exists (
    select 1 from permissions indexed by permissions_pending_by_agent
    where agent = ${sql.placeholder('agent')} and status = ${codeOf(PERMISSION_STATUSES, 'pending')}
    limit 1 offset ${MAX_PENDING_REQUESTS_OF_AGENT - 1}
  )`;
  return sql`${ofAccount} < ${MAX_PENDING_REQUESTS} and not ${isFullForAgent}`;
});
