import { and, eq, gte, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { aliased, asHex } from '../db/columns';
import { agents, auditEntries, DECISION_SOURCES, EVENT_TYPES, VOTE_DECISIONS } from '../db/schema';
import { notFound } from '../errors';
import type { AccountRef } from '../http/context';
import { EXAMPLE, exampleId } from '../http/examples';
import { choice } from '../http/fields';
import {
  countField,
  idField,
  integerField,
  jsonField,
  objectField,
  timeField,
} from '../http/response-fields';
import { ReviewRuleField } from '../http/review-rule';
import { Series } from '../http/series';
import { LOG_SPAN } from '../ledger/append';
import { entryId } from '../ledger/entry-id';
import { retentionPeriod } from '../ledger/marks';
import { readDetails } from '../ledger/stored-details';
import { type LazyOutput, lazy } from '../lib/lazy';
import { retentionDays } from '../lib/plans';
import { DAY, formatTime } from '../lib/time';
import { type Id, sequenceOfId } from '../lib/typeid';

/** The columns of an {@link EntryRow}. */
export const entryColumns = {
  pos: auditEntries.pos,
  permission: asHex(auditEntries.permission),
  event: auditEntries.event,
  action: aliased(auditEntries.action, 'entry_action'),
  createdAt: aliased(auditEntries.createdAt, 'entry_created_at'),
  ipAddress: auditEntries.ipAddress,
  userAgent: auditEntries.userAgent,
  details: auditEntries.details,
  random: asHex(auditEntries.random),
  agentId: asHex(agents.id),
};

/**
 * Joins an entry with its agent. Entries of a deleted agent match none: the API hides them until
 * they are erased.
 */
export const isAgentOfEntry = eq(agents.number, auditEntries.agent);

/** An entry as {@link entryColumns} selects it, with the id of its agent. */
export type EntryRow = Omit<typeof auditEntries.$inferSelect, 'agent' | 'previous'> & {
  agentId: Id<'agent'>;
};

export const EventType = lazy(() =>
  choice(EVENT_TYPES).meta({
    id: 'EventType',
    description:
      'What happened: a permission was requested, approved or denied; its token was used or revoked; ' +
      'an undecided request or an unused token expired.',
  }),
);

const EntryVote = lazy(() =>
  z
    .object({
      by: idField('member'),
      decision: z.enum(VOTE_DECISIONS),
      scope: objectField.optional().meta({
        description:
          'Absent if it is that of the vote before or, for the first vote, of the request.',
      }),
      token_ttl: countField,
      max_uses: countField,
      series: Series().optional().meta({ description: 'The series that the vote gives.' }),
      reason: z.string().nullable(),
      via: z.enum(DECISION_SOURCES),
      signed: z.boolean(),
      at: timeField,
      signature: z
        .object({
          credential_id: z.string(),
          signed_at: timeField,
          authenticator_data: z.string(),
          client_data_json: z.string(),
          signature: z.string(),
        })
        .optional()
        .meta({
          description: 'The signature of the decision statement by a passkey, in base64url.',
        }),
    })
    .meta({ id: 'EntryVote', description: 'A vote in a review.' }),
);

/**
 * The details of an entry. A nullable field that does not apply is null, an optional one is absent.
 */
export const AuditDetails = lazy(() =>
  z
    .object({
      action: z.string(),
      resource: z.string(),
      scope: objectField
        .nullable()
        .meta({ description: 'The granted limits; before the approval, the requested ones.' }),
      decided_by: z
        .string()
        .nullable()
        .meta({
          description:
            'Id of the member, policy or agent that decided or revoked; of the account for its own user tokens; of the ' +
            'first permission for an approval by a series.',
        }),
      decided_via: z
        .enum([...DECISION_SOURCES, 'policy', 'series'])
        .optional()
        .meta({
          description:
            'How the decision came; present in entries of approvals, denials and revocations.',
        }),
      decision_reason: z.string().nullable(),
      policy_id: idField('policy')
        .nullable()
        .meta({ description: 'The policy that decided; null if none did.' }),
      input_digest: z.string().nullable().optional().meta({
        description:
          'The digest of the input; in entries of requests, of their decisions, and of reviews that ended without one.',
      }),
      preview_digest: z
        .string()
        .nullable()
        .optional()
        .meta({ description: 'The digest of the preview; present as `input_digest` is.' }),
      token_id: idField('token')
        .optional()
        .meta({ description: 'Present if the event concerns a token.' }),
      expired: z.enum(['request', 'token', 'withdrawn']).optional().meta({
        description:
          'What expired, or that the request was withdrawn: by its agent, or because its connection was switched off or deleted. Present in entries of expiries.',
      }),
      review: ReviewRuleField().optional().meta({
        description:
          'Who has to approve, and how; present in the entry of a request that a review policy routed.',
      }),
      votes: z.array(EntryVote()).optional().meta({
        description:
          'The votes of the review, the oldest first; also the decision itself if it is signed.',
      }),
      review_policy_id: idField('policy').optional().meta({
        description:
          'The policy that sent the request to reviewers; in its entry and in that of its end.',
      }),
      granted_series: Series().optional().meta({
        description: 'The series that the approval gave; absent if it gave none.',
      }),
      series: z
        .object({ permission_id: idField('perm'), given_by: z.array(idField('member')) })
        .optional()
        .meta({
          description:
            'In the entry of an approval by a series: its first permission, and the members who gave it.',
        }),
    })
    .meta({ id: 'AuditDetails' }),
);

export type AuditDetails = LazyOutput<typeof AuditDetails>;

/** An audit entry as the API shows it. */
export const AuditEntry = lazy(() =>
  z
    .object({
      id: idField('audit'),
      sequence: integerField.meta({
        minimum: 1,
        description: "Position in the account's log, from 1. Erased entries leave gaps.",
      }),
      user_id: idField('user').meta({ description: 'The account.' }),
      agent_id: idField('agent'),
      permission_request_id: idField('perm'),
      event_type: EventType(),
      details: jsonField(AuditDetails()),
      ip_address: z
        .string()
        .meta({ description: 'The address of the client; empty if the service caused the event.' }),
      user_agent: z
        .string()
        .meta({ description: '`countersign` if the service caused the event.' }),
      created_at: timeField.meta({
        description: 'Never earlier than in an entry with a lower sequence.',
      }),
    })
    .meta({
      id: 'AuditEntry',
      description: 'A step of a permission or of its token. Entries never change.',
      examples: [
        {
          id: exampleId('audit'),
          sequence: 2,
          user_id: exampleId('user'),
          agent_id: exampleId('agent'),
          permission_request_id: exampleId('perm'),
          event_type: 'approve',
          details: {
            action: EXAMPLE.action,
            resource: EXAMPLE.resource,
            scope: EXAMPLE.narrowedScope,
            decided_by: exampleId('user'),
            decision_reason: 'Ten are enough',
            policy_id: null,
            token_id: exampleId('token'),
          },
          ip_address: EXAMPLE.ipAddress,
          user_agent: EXAMPLE.userAgent,
          created_at: EXAMPLE.time,
        },
      ],
    }),
);

export type AuditEntry = LazyOutput<typeof AuditEntry>;

/** The details of an entry as {@link AuditDetails} describes them. */
export function detailsOf({ details }: Pick<AuditEntry, 'details'>): AuditDetails {
  return details as AuditDetails;
}

/** Makes the API's form of an entry. */
export function presentEntry(
  account: Pick<AccountRef, 'number' | 'id'>,
  row: EntryRow,
): AuditEntry {
  const sequence = row.pos - logStart(account);
  return {
    id: entryId({ ...row, sequence }),
    sequence,
    user_id: account.id,
    agent_id: row.agentId,
    permission_request_id: row.permission,
    event_type: row.event,
    details: readDetails(row, row.details),
    ip_address: row.ipAddress,
    user_agent: row.userAgent,
    created_at: formatTime(row.createdAt),
  };
}

/**
 * The condition that finds the account's entry at the place that an id names, unless it is past the
 * account's retention period. It may have another id: {@link requireEntryWithId} compares them.
 */
export function isKeptEntry(account: AccountRef, id: Id<'audit'>, now: number) {
  return and(
    eq(auditEntries.pos, logStart(account) + sequenceOfId(id)),
    gte(auditEntries.createdAt, oldestKept(account, now)),
  );
}

/**
 * The API's form of the entry that was found at the place that an id names.
 * @throws Problem `not_found` if there is none, or it has another id
 */
export function requireEntryWithId(
  account: Pick<AccountRef, 'number' | 'id'>,
  row: EntryRow | undefined,
  id: string,
): AuditEntry {
  const entry = row && presentEntry(account, row);
  if (entry?.id !== id) throw notFound('audit entry');
  return entry;
}

/**
 * The position in the log before an account's first entry: the entry with sequence n has this
 * position plus n.
 */
export function logStart(account: Pick<AccountRef, 'number'>): number {
  return account.number * LOG_SPAN;
}

/**
 * The earliest time of entries within the account's retention period, in milliseconds since the
 * epoch.
 */
export function oldestKept(account: AccountRef, now: number): number {
  return now - retentionDays(account) * DAY;
}

/** The same as SQL for an account whose number is given as SQL. */
export function oldestKeptSql(account: SQL<number>, now: number | SQL): SQL<number> {
  return sql<number>`(
    select ${now} - ${retentionPeriod} from accounts where accounts.number = ${account})`;
}
