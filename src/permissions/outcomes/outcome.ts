import { type InferSelectModel, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { codeOf } from '../../db/columns';
import { OUTCOME_STATES, type permissions } from '../../db/schema';
import { choice } from '../../http/fields';
import { timeField } from '../../http/response-fields';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { formatTimeOrNull, MINUTE } from '../../lib/time';

/** How long a program has for its report after the use, in milliseconds. */
export const REPORT_PERIOD = 10 * MINUTE;

export const OutcomeStatus = lazy(() =>
  choice(['awaited', 'unknown', 'succeeded', 'failed']).meta({ id: 'OutcomeStatus' }),
);

export type OutcomeStatus = LazyOutput<typeof OutcomeStatus>;

export const Outcome = lazy(() =>
  z
    .object({
      status: OutcomeStatus(),
      summary: z.string().nullable().meta({ description: "The program's own words." }),
      reported_at: timeField.nullable().meta({ description: 'Null without a report.' }),
      reported_by: z.string().nullable().meta({
        description:
          'Id of the agent, the member or, for its own user tokens, the account that took the use and reported.',
      }),
    })
    .meta({
      id: 'Outcome',
      description:
        'What happened after the use, as the program says: nobody has checked it. `failed` means that the program saw an ' +
        'error, not that nothing happened; `unknown`, that it does not know, or did not report within 10 minutes.',
    }),
);

export type Outcome = LazyOutput<typeof Outcome>;

/** The part of a permission that says what became of its outcome. */
export type OutcomeColumns = Pick<
  InferSelectModel<typeof permissions>,
  'outcomeState' | 'outcomeDueAt' | 'outcomeReportedAt' | 'outcomeSummary' | 'usedBy'
>;

/** The columns of a permission whose request promised no outcome. */
export const NO_OUTCOME: OutcomeColumns = {
  outcomeState: null,
  outcomeDueAt: null,
  outcomeReportedAt: null,
  outcomeSummary: null,
  usedBy: null,
};

/**
 * The status of an outcome at a time; null if none was promised, or the token was not used yet. An
 * overdue one is unknown, even before the background task stores this.
 */
export function outcomeStatusAt(
  { outcomeState, outcomeDueAt }: Pick<OutcomeColumns, 'outcomeState' | 'outcomeDueAt'>,
  now: number,
): OutcomeStatus | null {
  if (outcomeState === null || outcomeState === 'promised') return null;
  const isOverdue = outcomeDueAt !== null && outcomeDueAt <= now;
  return outcomeState === 'awaited' && isOverdue ? 'unknown' : outcomeState;
}

/** Shows an outcome as it is at a time; null as {@link outcomeStatusAt}. */
export function presentOutcome(columns: OutcomeColumns, now: number): Outcome | null {
  const status = outcomeStatusAt(columns, now);
  if (status === null) return null;
  const { outcomeReportedAt, outcomeSummary, usedBy } = columns;
  return {
    status,
    summary: outcomeSummary,
    reported_at: formatTimeOrNull(outcomeReportedAt),
    reported_by: outcomeReportedAt === null ? null : usedBy,
  };
}

/** The columns that the use sets of a permission whose request promised an outcome. */
export function awaitOutcome(usedBy: string, now: number) {
  return { outcomeState: 'awaited' as const, usedBy, outcomeDueAt: now + REPORT_PERIOD };
}

/** The outcomes by which permissions are listed. */
export type ListedOutcome = Extract<OutcomeStatus, 'unknown' | 'failed'>;

/** Whether a permission has an outcome at a time, as SQL: see {@link outcomeStatusAt}. */
export function hasOutcome(wanted: ListedOutcome, now: number): SQL {
  const isStored = sql`outcome_state = ${codeOf(OUTCOME_STATES, wanted)}`;
  if (wanted === 'failed') return isStored;
  return sql`(${isStored} or ${isOverdue(now)})`;
}

/** Whether the report on a permission is overdue, but not stored as unknown yet. */
export function isOverdue(now: number): SQL {
  return sql`outcome_state = ${codeOf(OUTCOME_STATES, 'awaited')} and outcome_due_at <= ${now}`;
}

/** The minute in which a report becomes overdue, as the index `outcomes_awaited` has it. */
export const DUE_MINUTE = sql`(outcome_due_at / ${sql.raw(String(MINUTE))})`;
