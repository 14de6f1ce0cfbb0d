import { and, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { codesOf } from '../../db/columns';
import { permissionOutcomes } from '../../db/permission-outcomes';
import { OUTCOME_STATES } from '../../db/schema';
import { Problem } from '../../errors';
import { sharedAccess } from '../../http/access';
import type { Context } from '../../http/context';
import { choice, text } from '../../http/fields';
import { body, noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import type { Guard } from '../../ledger/guard';
import type { Ledger } from '../../ledger/ledger';
import type { Answer } from '../../ledger/stored-answer';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { userOfToken } from '../draft-entry';
import { isPermissionWithId, preloadPermission, requirePermission } from '../find-permission';
import {
  Permission,
  type PermissionRow,
  presentPermission,
  type ReviewedPermission,
} from '../permission';

export const OutcomeReport = lazy(() =>
  z
    .strictObject({
      status: choice(['succeeded', 'failed', 'unknown']).meta({
        description:
          '`failed`: the program saw an error; something may have happened all the same. `unknown`: it does not know.',
      }),
      summary: text(0, 1_000).optional().meta({ description: 'What happened, in a few words.' }),
    })
    .meta({
      id: 'OutcomeReport',
      examples: [{ status: 'succeeded', summary: 'Sent to 3 people' }],
    }),
);

type Report = LazyOutput<typeof OutcomeReport>;

interface ReportingContext extends Context {
  /** Reads the permission again, after authenticating the caller again. */
  reload: () => Promise<ReviewedPermission | undefined>;
}

/** The states in which a report changes the outcome. */
const OPEN_STATES = ['awaited', 'unknown'] as const;

/**
 * Reports what happened after the use of a permission: the word of the program that took the use.
 * It may be reported once, and once more after `unknown`; the same report again changes nothing.
 * @throws Problem `not_found`; `conflict` before the use, or if no outcome was promised;
 *   `wrong_reporter`; `conflict` if another outcome was reported
 */
export async function reportOutcome(
  context: ReportingContext,
  { permission, ...report }: { permission: ReviewedPermission | undefined } & Report,
): Promise<Permission> {
  const stored = await storeReport(context, permission, report);
  if (stored) return stored;
  // Another report came at the same time: this one is the same, or it is refused.
  const again = await storeReport(context, await context.reload(), report);
  if (again) return again;
  throw outcomeConflict('Another outcome was reported at the same time.');
}

/**
 * Stores a report, unless the same is stored already.
 * @returns null if the outcome was reported after the permission was read
 */
async function storeReport(
  { principal, runtime, ledger }: Context,
  permission: ReviewedPermission | undefined,
  { status, summary }: Report,
): Promise<Permission | null> {
  const row = requirePermission(principal, permission);
  const { outcomeState: state } = row;
  if (state === null)
    throw outcomeConflict('The request did not say `reports_outcome`, so no outcome is reported.');
  if (state === 'promised')
    throw outcomeConflict('The token was not used: take its use before the act, then report.');
  if (row.usedBy !== userOfToken(principal)) {
    throw new Problem(
      'wrong_reporter',
      'Only the caller that used the token can report the outcome. Send the report with that credential.',
    );
  }
  const now = runtime.now();
  const outcomeSummary = summary || null;
  const isReported = row.outcomeReportedAt !== null;
  const isSame = isReported && state === status && row.outcomeSummary === outcomeSummary;
  if (isSame) return presentPermission(row, now, principal);
  if (state === 'succeeded' || state === 'failed')
    throw outcomeConflict(`The outcome was reported as ${state} already.`);
  const columns = { outcomeState: status, outcomeReportedAt: now, outcomeSummary, updatedAt: now };
  const reported = presentPermission({ ...row, ...columns }, now, principal);
  const isStored = await storeOutcome(
    ledger,
    row,
    { state: status, summary: outcomeSummary, reportedAt: now, updatedAt: now },
    { value: reported, subject: row.agentId },
  );
  return isStored ? reported : null;
}

/**
 * Stores an outcome.
 * @returns false if it was reported before that the act succeeded or failed, or if the permission
 *   is no longer there: then nothing is written
 */
export async function storeOutcome(
  ledger: Ledger,
  row: Pick<PermissionRow, 'account' | 'id'>,
  outcome: Omit<typeof permissionOutcomes.$inferInsert, 'account' | 'permission'>,
  answer?: Answer,
): Promise<boolean> {
  try {
    await ledger.write({
      guards: [openGuard(row)],
      changes: (write) => [
        write
          .update(permissionOutcomes)
          .set(outcome)
          .where(isPermissionWithId(row.account, row.id)),
      ],
      ...(answer && { answer }),
    });
    return true;
  } catch (error) {
    if (error instanceof OutcomeClosed) return false;
    throw error;
  }
}

/** The guard of a report: nobody has reported that the act succeeded or failed. */
function openGuard({ account, id }: Pick<PermissionRow, 'account' | 'id'>): Guard {
  const isOpen = and(
    isPermissionWithId(account, id),
    sql`outcome_state in (${codesOf(OUTCOME_STATES, OPEN_STATES)})`,
  );
  return {
    name: 'outcome_is_open',
    holds: sql`exists (select 1 from permissions where ${isOpen})`,
    otherwise: () => new OutcomeClosed(),
  };
}

/** The outcome was reported, or the permission was erased, meanwhile. */
class OutcomeClosed extends Error {}

function outcomeConflict(detail: string): Problem {
  return new Problem('conflict', detail);
}

export const reportOutcomeRoute = new Hono().post(
  '/v1/permissions/:id/outcome',
  operation({
    id: 'reportOutcome',
    tag: 'Permissions',
    summary: 'Report the outcome of the act',
    description:
      'Says what happened after the use: for the agent, the member or the account that took it. It is the word of the ' +
      'program, so it is not in the audit log. The same report again is 200; another one is refused, except after ' +
      '`unknown`. It also works while the account is stopped.',
    success: ok(Permission),
    pathId: 'perm',
    problems: ['conflict', 'wrong_reporter'],
  }),
  sharedAccess('tokens:use', preloadPermission),
  noQuery(),
  body(OutcomeReport),
  async (c) => {
    const { loaded, reload } = c.var;
    const context = { ...c.var.context, reload: async () => (await reload()).permission?.[0] };
    const input = { permission: loaded.permission?.[0], ...c.req.valid('json') };
    return answer(c, await reportOutcome(context, input));
  },
);
