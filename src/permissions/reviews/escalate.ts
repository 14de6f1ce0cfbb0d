import { and, eq, isNotNull, lte, type SQLWrapper, sql } from 'drizzle-orm';
import { isAtHome } from '../../db/at-home';
import { codeOf } from '../../db/columns';
import type { Reader } from '../../db/database';
import { agents, PERMISSION_STATUSES, permissions, reviews } from '../../db/schema';
import type { Runtime } from '../../env';
import { makeActivityRecord } from '../../http/activity';
import { SERVICE_ORIGIN } from '../../ledger/entry';
import type { Ledger } from '../../ledger/ledger';
import { recordEscalation } from '../../outbox/feed';

/** Maximum number of reviews that one call of {@link escalateReviews} escalates. */
const SLICE = 50;

/** It was decided or escalated meanwhile, or its agent or account is deleted. */
class NotDue extends Error {}

/**
 * Records the escalation of pending permissions whose reviewers took too long, the longest overdue
 * first: each gets one activity record, `permission.escalated`, and in the same transaction the
 * event for the account's webhooks. (More people may vote from the time itself on, recorded or
 * not.) The minute's sweep finds the feeds that this makes due.
 *
 * Skips permissions that nobody can decide any more: those that have expired, and those of deleted
 * agents.
 * @returns whether there may be more
 */
export async function escalateReviews(context: {
  reader: Reader;
  ledger: Ledger;
  runtime: Runtime;
}): Promise<boolean> {
  const { reader, ledger, runtime } = context;
  const now = runtime.now();
  const isDecidable = (account: SQLWrapper, id: SQLWrapper) => sql`exists (
    select 1 from ${permissions} join ${agents} on ${agents.number} = ${permissions.agent}
    where ${permissions.account} = ${account} and ${permissions.id} = ${id}
      and ${permissions.status} = ${codeOf(PERMISSION_STATUSES, 'pending')} and ${permissions.expiresAt} > ${now}
  )`;
  const [due] = await reader.load([
    reader
      .select({ account: reviews.account, id: reviews.id })
      .from(reviews)
      .where(
        and(
          isNotNull(reviews.escalationDueAt),
          lte(reviews.escalationDueAt, now),
          isDecidable(reviews.account, reviews.id),
          isAtHome,
        ),
      )
      .orderBy(reviews.escalationDueAt)
      .limit(SLICE),
  ]);
  let escalated = 0;
  for (const { account, id } of due) {
    const isDue = and(
      eq(reviews.account, account),
      eq(reviews.id, id),
      isNotNull(reviews.escalationDueAt),
    );
    const guard = {
      name: 'escalation_is_due',
      holds: sql`exists (
        select 1 from ${reviews} where ${isDue} and ${isDecidable(reviews.account, reviews.id)}
      )`,
      otherwise: () => new NotDue(),
    };
    const fields = {
      account,
      actor: null,
      action: 'permission.escalated' as const,
      target: id,
      changes: [],
    };
    try {
      await ledger.change({
        record: makeActivityRecord({ runtime, origin: SERVICE_ORIGIN }, fields),
        guards: [guard],
        changes: (write) => [
          write.update(reviews).set({ escalatedAt: now, escalationDueAt: null }).where(isDue),
          ...recordEscalation(write, account, id, now),
        ],
        answer: null,
      });
      escalated += 1;
    } catch (error) {
      if (!(error instanceof NotDue)) throw error;
    }
  }
  return due.length === SLICE && escalated > 0;
}
