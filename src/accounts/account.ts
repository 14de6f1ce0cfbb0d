import { eq, type InferSelectModel } from 'drizzle-orm';
import * as z from 'zod';
import type { Reader } from '../db/database';
import { accounts } from '../db/schema';
import { notFound } from '../errors';
import type { RequestContext, Shard } from '../http/context';
import { EXAMPLE, exampleId } from '../http/examples';
import { choice, emailAddress, text, wholeNumber } from '../http/fields';
import { countField, idField, timeField } from '../http/response-fields';
import { type LazyOutput, lazy } from '../lib/lazy';
import { MAX_RETENTION_DAYS, PLANS, retentionDays } from '../lib/plans';
import { formatTime } from '../lib/time';
import { parseId } from '../lib/typeid';

export type AccountRow = InferSelectModel<typeof accounts>;

export const exampleAccount = {
  id: exampleId('user'),
  email: 'owner@example.com',
  name: 'Example Ltd',
  plan: 'pro',
  audit_retention_days: retentionDays({ plan: 'pro', auditRetentionDays: null }),
  is_active: true,
  stopped: null,
  witnessed: false,
  created_at: EXAMPLE.time,
  updated_at: EXAMPLE.time,
};

const keptDays = PLANS.map(
  (plan) => `\`${plan}\` ${retentionDays({ plan, auditRetentionDays: null })}`,
).join(', ');

export const Plan = lazy(() =>
  choice(PLANS).meta({
    id: 'Plan',
    description: `Decides for how many days audit entries are kept: ${keptDays}. An account on the plan enterprise may choose fewer.`,
  }),
);

/** A stop as the API shows it. */
export const Stop = lazy(() =>
  z
    .object({
      at: timeField,
      by: z.string().meta({
        description: 'Id of the member who stopped it, or of the account for its own user tokens.',
      }),
      reason: z.string().nullable(),
    })
    .meta({
      id: 'Stop',
      description:
        'The stop of an account: until it is resumed, nothing is requested, approved or used.',
      examples: [{ at: EXAMPLE.time, by: exampleId('member'), reason: 'The bot mails everybody' }],
    }),
);

export type Stop = LazyOutput<typeof Stop>;

type StopColumns = Pick<AccountRow, 'id' | 'stoppedAt' | 'stoppedBy' | 'stopReason'>;

/** Shows the stop of an account; null if it is not stopped. */
export function presentStop({ id, stoppedAt, stoppedBy, stopReason }: StopColumns): Stop | null {
  if (stoppedAt === null) return null;
  return { at: formatTime(stoppedAt), by: stoppedBy ?? id, reason: stopReason };
}

/** The columns of an account that is not stopped. */
export const NOT_STOPPED = { stoppedAt: null, stoppedBy: null, stopReason: null } as const;

export const Account = lazy(() =>
  z
    .object({
      id: idField('user'),
      email: z.string(),
      name: z.string().nullable(),
      plan: Plan(),
      audit_retention_days: countField.meta({
        description: 'For how many days audit entries are kept.',
      }),
      is_active: z
        .boolean()
        .meta({ description: 'While false, every credential of the account is refused.' }),
      stopped: Stop()
        .nullable()
        .meta({ description: 'Who stopped it, when and why; null if it is not stopped.' }),
      witnessed: z.boolean().meta({
        description: 'Whether the heads of its log are sent to the witnesses of the deployment.',
      }),
      created_at: timeField,
      updated_at: timeField,
    })
    .meta({
      id: 'Account',
      description:
        'A user of the service. Agents, policies and the audit log belong to an account.',
      examples: [exampleAccount],
    }),
);

export type Account = LazyOutput<typeof Account>;

/** The description of an e-mail address in the OpenAPI document. */
export const ADDRESS_FORM =
  'A dot-atom of RFC 5322 before the `@`, a public host name after it, whose U-labels become A-labels.';

/**
 * The fields of an account that the operator may set, except `is_active`; `email` only when it is
 * created.
 */
export const accountFields = lazy(() => ({
  email: emailAddress.meta({
    description: `${ADDRESS_FORM} Need not be unique.`,
    examples: [exampleAccount.email],
  }),
  name: text(1, 255),
  plan: Plan(),
  audit_retention_days: wholeNumber(1, MAX_RETENTION_DAYS).meta({
    description: 'For how many days audit entries are kept. Only the plan `enterprise` may set it.',
  }),
}));

export function presentAccount(
  row: Omit<AccountRow, 'number' | 'erasedSequence' | 'erasedAt' | 'retentionDueAt'>,
): Account {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    plan: row.plan,
    audit_retention_days: retentionDays(row),
    is_active: row.isActive,
    stopped: presentStop(row),
    witnessed: row.isWitnessed,
    created_at: formatTime(row.createdAt),
    updated_at: formatTime(row.updatedAt),
  };
}

/**
 * Preloads the account in the path, from every shard, because an account's id does not name
 * its shard.
 */
export function preloadAccount(c: RequestContext, reader: Reader) {
  const id = parseId('user', c.req.param('id') ?? '');
  return id && { query: reader.select().from(accounts).where(eq(accounts.id, id)) };
}

/** An account, and the shard that holds it. */
export interface LocatedAccount {
  shard: Shard;
  row: AccountRow;
}

/**
 * Finds the account among the rows that were loaded from each shard.
 * @throws Problem `not_found`
 */
export function requireLocatedAccount(
  loaded: { shard: Shard; loaded: AccountRow[] | undefined }[],
): LocatedAccount {
  for (const { shard, loaded: [row] = [] } of loaded) if (row) return { shard, row };
  throw notFound('account');
}
