import { asc, eq, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import type { Database } from '../db/database';
import { ERASURE_KINDS, erasures, FILE_STATUSES } from '../db/schema';
import { HOUR } from '../lib/time';
import { DELETE_LIMIT, STORED_ANSWER_LIMIT } from './erase-agents';

const processing = codeOf(FILE_STATUSES, 'processing');

/**
 * Erases a slice of the account that was deleted first: its credentials, members, policies,
 * activity records, erasure records and stored answers, the contents of its permissions, and the
 * rows of its agents and webhooks. What belongs to an agent or a webhook is left to
 * `erase-agents.ts` and `erase-webhooks.ts`, and files to the task `clean_files`. Safe to stop at
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
  const run = (statement: SQL) => database.build.run(statement);
  const slice = sql`(select number from agents where account = ${account} order by number limit ${DELETE_LIMIT})`;
  await database.run([
    run(sql`insert into erasures (kind, number, subject)
      select ${codeOf(ERASURE_KINDS, 'agent')}, number, id from agents where number in ${slice}`),
    run(sql`delete from agent_keys where agent in ${slice}`),
    run(sql`delete from agents where number in ${slice}`),
    run(sql`delete from user_tokens where account = ${account}`),
    run(sql`delete from sessions where account = ${account}`),
    run(sql`delete from passkeys where account = ${account}`),
    run(sql`delete from used_challenges where account = ${account}`),
    run(sql`delete from members where (account, id) in (
      select account, id from members where account = ${account} limit ${DELETE_LIMIT})`),
    run(sql`delete from notification_settings where (account, member) in (
      select account, member from notification_settings where account = ${account} limit ${DELETE_LIMIT})`),
    run(sql`delete from held_messages where (account, webhook, member, permission, event, reminder) in (
      select account, webhook, member, permission, event, reminder from held_messages
      where account = ${account} limit ${DELETE_LIMIT})`),
    run(sql`delete from slack_links where (account, webhook, team, slack_user) in (
      select account, webhook, team, slack_user from slack_links where account = ${account} limit ${DELETE_LIMIT})`),
    run(sql`delete from pending_permissions where agent = 0 and account = ${account}`),
    run(sql`delete from policies where account = ${account}`),
    run(sql`insert into erasures (kind, number)
      select ${codeOf(ERASURE_KINDS, 'webhook')}, number from webhooks where account = ${account}`),
    run(sql`delete from webhooks where account = ${account}`),
    run(sql`delete from webhook_feeds where account = ${account}`),
    run(sql`delete from file_outcomes where account = ${account}`),
    // The task clean_files deletes completed files now, and those in progress once their leases
    // have ended. Files that it looks at within the hour keep that time: a job may still be writing
    // to them after its lease.
    run(sql`
      update files set status = ${codeOf(FILE_STATUSES, 'expired')}, due_at = iif(status = ${processing}, due_at, ${now})
      where account = ${account}
        and (status in (${processing}, ${codeOf(FILE_STATUSES, 'completed')}) or due_at > ${now + HOUR})`),
    run(sql`delete from activity where (account, id) in (
      select account, id from activity where account = ${account} limit ${DELETE_LIMIT})`),
    // Usually a trigger deletes them with their permission, but an abandoned copy of an account can
    // lack the permission.
    run(sql`delete from permission_contents where (account, id) in (
      select account, id from permission_contents where account = ${account} limit ${DELETE_LIMIT})`),
    run(sql`delete from reviews where (account, id) in (
      select account, id from reviews where account = ${account} limit ${DELETE_LIMIT})`),
    run(sql`delete from votes where (account, permission, ordinal) in (
      select account, permission, ordinal from votes where account = ${account} limit ${DELETE_LIMIT})`),
    run(sql`delete from permission_events where (account, permission, event) in (
      select account, permission, event from permission_events where account = ${account} limit ${DELETE_LIMIT})`),
    run(sql`delete from erased_entries where id in (
      select id from erased_entries indexed by erased_entries_by_account where account = ${account} limit ${DELETE_LIMIT})`),
    run(sql`delete from stored_answers where (principal, key) in (
      select principal, key from stored_answers indexed by stored_answers_by_subject
      where subject = ${subject} limit ${STORED_ANSWER_LIMIT})`),
    run(sql`delete from erasures where id = ${id}
      and not exists (select 1 from stored_answers indexed by stored_answers_by_subject where subject = ${subject})
      and not exists (select 1 from agents where account = ${account})
      and not exists (select 1 from erased_entries indexed by erased_entries_by_account where account = ${account})
      and not exists (select 1 from members where account = ${account})
      and not exists (select 1 from notification_settings where account = ${account})
      and not exists (select 1 from held_messages where account = ${account})
      and not exists (select 1 from slack_links where account = ${account})
      and not exists (select 1 from permission_events where account = ${account})
      and not exists (select 1 from permission_contents where account = ${account})
      and not exists (select 1 from reviews where account = ${account})
      and not exists (select 1 from votes where account = ${account})
      and not exists (select 1 from activity where account = ${account})`),
  ]);
  return true;
}
