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
import { SLICE } from './erase-agents';

const [agentKind, webhookKind] = (['agent', 'webhook'] as const).map((kind) => codeOf(ERASURE_KINDS, kind));
const [processing, completed, expired] = (['processing', 'completed', 'expired'] as const).map((status) =>
  codeOf(FILE_STATUSES, status),
);

/**
 * Gives a slice of a deleted account's agents, to which everything else belongs, and its webhooks up for erasure, and
 * erases its tokens, policies, notes and stored answers.
 * May be stopped and called again at any point.
 * @returns whether there is more to give up
 */
export async function eraseAccounts(database: Database, now: number): Promise<boolean> {
  const [[next]] = await database.load([
    database.select().from(erasures).where(eq(erasures.kind, 'account')).orderBy(asc(erasures.id)).limit(1),
  ]);
  if (!next) return false;
  const { build } = database;
  const slice = sql`(select number from agents where account = ${next.number} order by number limit ${SLICE})`;
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
    // What files there are the sweep of files then deletes, those in the making once nobody can still be writing. Those
    // that it is to look at within the hour may still be written to by whoever outlived a lease.
    build.run(sql`
      update files set status = ${expired}, due_at = iif(status = ${processing}, due_at, ${now})
      where account = ${next.number} and (status = ${processing} or status = ${completed} or due_at > ${now + HOUR})`),
    build.run(sql`delete from activity where (account, id) in (
      select account, id from activity where account = ${next.number} limit ${SLICE})`),
    build.run(sql`delete from erased_entries where id in (
      select id from erased_entries indexed by erased_entries_by_account where account = ${next.number} limit ${SLICE})`),
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
