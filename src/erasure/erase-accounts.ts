import { and, asc, eq, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import type { Database } from '../db/database';
import {
  agentKeys,
  agents,
  ERASURE_KINDS,
  erasures,
  FILE_STATUSES,
  fileOutcomes,
  pendingPermissions,
  policies,
  userTokens,
  webhookFeeds,
} from '../db/schema';
import { STORED_ANSWER_SLICE } from '../ledger/stored-answer';
import { HOUR } from '../lib/time';
import { DELETE_LIMIT } from './erase-agents';

const [agentKind, webhookKind] = (['agent', 'webhook'] as const).map((kind) => codeOf(ERASURE_KINDS, kind));
const [processing, completed, expired] = (['processing', 'completed', 'expired'] as const).map((status) =>
  codeOf(FILE_STATUSES, status),
);

/**
 * Erases a slice of a deleted account: its tokens, policies, activity records and stored answers, and the rows of its
 * agents and webhooks. Everything that belongs to an agent or a webhook is left to `eraseAgents` and `eraseWebhooks`.
 * Safe to stop at any point and to repeat.
 * @returns whether there is more to erase
 */
export async function eraseAccounts(database: Database, now: number): Promise<boolean> {
  const [[next]] = await database.load([
    database.select().from(erasures).where(eq(erasures.kind, 'account')).orderBy(asc(erasures.id)).limit(1),
  ]);
  if (!next) return false;
  const { build } = database;
  const slice = sql`(select number from agents where account = ${next.number} order by number limit ${DELETE_LIMIT})`;
  await database.run([
    build.run(
      sql`insert into erasures (kind, number, subject)
        select ${agentKind}, number, id from agents where number in ${slice}`,
    ),
    build.delete(agentKeys).where(sql`${agentKeys.agent} in ${slice}`),
    build.delete(agents).where(sql`${agents.number} in ${slice}`),
    build.delete(userTokens).where(eq(userTokens.account, next.number)),
    build
      .delete(pendingPermissions)
      .where(and(eq(pendingPermissions.agent, 0), eq(pendingPermissions.account, next.number))),
    build.delete(policies).where(eq(policies.account, next.number)),
    build.run(sql`insert into erasures (kind, number)
      select ${webhookKind}, number from webhooks where account = ${next.number}`),
    build.run(sql`delete from webhooks where account = ${next.number}`),
    build.delete(webhookFeeds).where(eq(webhookFeeds.account, next.number)),
    build.delete(fileOutcomes).where(eq(fileOutcomes.account, next.number)),
    // The task clean_files deletes the files, and those in progress once their leases have ended. Files that it looks
    // at within the hour keep that time: a worker may still be writing to them after its lease.
    build.run(sql`
      update files set status = ${expired}, due_at = iif(status = ${processing}, due_at, ${now})
      where account = ${next.number} and (status = ${processing} or status = ${completed} or due_at > ${now + HOUR})`),
    build.run(sql`delete from activity where (account, id) in (
      select account, id from activity where account = ${next.number} limit ${DELETE_LIMIT})`),
    build.run(sql`delete from erased_entries where id in (
      select id from erased_entries indexed by erased_entries_by_account where account = ${next.number} limit ${DELETE_LIMIT})`),
    build.run(sql`delete from stored_answers where (principal, key) in (
      select principal, key from stored_answers indexed by stored_answers_by_subject
      where subject = ${next.subject} limit ${STORED_ANSWER_SLICE})`),
    build.run(sql`delete from erasures where id = ${next.id}
      and not exists (select 1 from stored_answers indexed by stored_answers_by_subject where subject = ${next.subject})
      and not exists (select 1 from agents where account = ${next.number})
      and not exists (select 1 from erased_entries indexed by erased_entries_by_account where account = ${next.number})
      and not exists (select 1 from activity where account = ${next.number})`),
  ]);
  return true;
}
