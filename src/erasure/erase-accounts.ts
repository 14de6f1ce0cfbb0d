import { and, asc, eq, gt, or, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import type { Database } from '../db/database';
import {
  activity,
  agentKeys,
  agents,
  connectionCalls,
  connectionReads,
  connections,
  ERASURE_KINDS,
  erasedEntries,
  erasures,
  eventFeeds,
  fileResults,
  files,
  heldMessages,
  members,
  notificationSettings,
  passkeys,
  pendingPermissions,
  permissionContents,
  permissionEvents,
  permissions,
  policies,
  receivers,
  reviews,
  series,
  seriesChecks,
  sessions,
  slackLinks,
  storedAnswers,
  usedChallenges,
  userTokens,
  votes,
} from '../db/schema';
import { HOUR } from '../lib/time';
import { deleteRows, hasNoRow } from './delete-rows';
import { DELETE_LIMIT, STORED_ANSWER_LIMIT } from './erase-agents';
import { runErasure } from './run-erasure';

/** Tables with few rows of an account, which one statement deletes. */
const DELETED_AT_ONCE = [
  userTokens,
  sessions,
  passkeys,
  usedChallenges,
  policies,
  connections,
  receivers,
  eventFeeds,
  fileResults,
  seriesChecks,
];

/**
 * Tables that are deleted slice by slice. Usually a trigger deletes what belongs to a permission
 * together with it, but an abandoned copy of an account can lack the permission.
 */
const DELETED_IN_SLICES = [
  members,
  notificationSettings,
  heldMessages,
  slackLinks,
  activity,
  permissions,
  permissionContents,
  reviews,
  votes,
  permissionEvents,
  series,
  connectionCalls,
  connectionReads,
];

/**
 * Erases a slice of the account that was deleted first: its credentials, members, policies,
 * connections, permissions, activity records, erasure records and stored answers, and the rows of
 * its agents and receivers. What else belongs to an agent or a receiver is left to
 * `erase-agents.ts` and `erase-receivers.ts`, and files to the task `clean_files`. Safe to stop at
 * any point and to repeat.
 * @returns whether there may be more to erase
 */
export async function eraseAccounts(database: Database, now: number): Promise<boolean> {
  const [[next]] = await database.load([
    database
      .select()
      .from(erasures)
      .where(eq(erasures.kind, 'account'))
      .orderBy(asc(erasures.id))
      .limit(1),
  ]);
  if (!next) return false;
  const { id, number: account, subject } = next;
  const { build } = database;
  const limit = DELETE_LIMIT;
  const isAnswer = eq(storedAnswers.subject, subject);
  const slice = sql`(
    select ${agents.number} from ${agents} where ${agents.account} = ${account}
    order by ${agents.number} limit ${limit}
  )`;
  await runErasure(database, [
    build.run(sql`insert into ${erasures} (kind, account, number, subject)
      select ${codeOf(ERASURE_KINDS, 'agent')}, ${account}, ${agents.number}, ${agents.id}
      from ${agents} where ${agents.number} in ${slice}`),
    build.delete(agentKeys).where(sql`${agentKeys.agent} in ${slice}`),
    build.delete(agents).where(sql`${agents.number} in ${slice}`),
    build.delete(pendingPermissions).where(eq(pendingPermissions.account, account)),
    build.run(sql`insert into ${erasures} (kind, account, number)
      select ${codeOf(ERASURE_KINDS, 'receiver')}, ${account}, ${receivers.number}
      from ${receivers} where ${receivers.account} = ${account}`),
    ...DELETED_AT_ONCE.map((table) => build.delete(table).where(eq(table.account, account))),
    expireFiles(database, account, now),
    ...DELETED_IN_SLICES.map((table) =>
      build.run(deleteRows(table, { where: eq(table.account, account), limit })),
    ),
    build.run(
      deleteRows(erasedEntries, {
        where: eq(erasedEntries.account, account),
        limit,
        index: 'erased_entries_by_account',
      }),
    ),
    build.run(
      deleteRows(storedAnswers, {
        where: isAnswer,
        limit: STORED_ANSWER_LIMIT,
        index: 'stored_answers_by_subject',
      }),
    ),
    build
      .delete(erasures)
      .where(
        and(
          eq(erasures.id, id),
          hasNoRow(storedAnswers, isAnswer, 'stored_answers_by_subject'),
          hasNoRow(agents, eq(agents.account, account)),
          hasNoRow(erasedEntries, eq(erasedEntries.account, account), 'erased_entries_by_account'),
          ...DELETED_IN_SLICES.map((table) => hasNoRow(table, eq(table.account, account))),
        ),
      ),
  ]);
  return true;
}

/**
 * Builds the statement that leaves the files of a deleted account to the task `clean_files`. It
 * deletes completed files now, and those in progress once their leases have ended. Files that it
 * looks at within the hour keep that time: a job may still be writing to them after its lease.
 */
function expireFiles({ build }: Database, account: number, now: number) {
  const isProcessing = eq(files.status, 'processing');
  return build
    .update(files)
    .set({ status: 'expired', dueAt: sql`iif(${isProcessing}, ${files.dueAt}, ${now})` })
    .where(
      and(
        eq(files.account, account),
        or(isProcessing, eq(files.status, 'completed'), gt(files.dueAt, now + HOUR)),
      ),
    );
}
