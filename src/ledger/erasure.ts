import { asc, desc, eq, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import type { Database } from '../db/database';
import {
  agentKeys,
  agents,
  ERASURE_KINDS,
  erasures,
  FILE_STATUSES,
  fileOutcomes,
  policies,
  userTokens,
  webhookFeeds,
} from '../db/schema';
import { HOUR } from '../lib/time';
import { LOG_SPAN } from './append';
import { ANSWER_SLICE } from './stored-answer';

/** Rows of one table that one statement deletes: D1 answers nobody else meanwhile. */
const SLICE = 500;

/** Agents that one slice looks at: many small ones go together. */
const AGENTS = 50;
const WEBHOOKS = 50;

const span = sql.raw(String(LOG_SPAN));
const [processing, completed, expired] = (['processing', 'completed', 'expired'] as const).map((status) =>
  codeOf(FILE_STATUSES, status),
);
const agentKind = codeOf(ERASURE_KINDS, 'agent');
const webhookKind = codeOf(ERASURE_KINDS, 'webhook');

/**
 * Erases a slice of the permissions, audit entries, statistics, deliveries and stored answers of deleted agents. May be stopped and
 * called again at any point.
 * @param first which deletions to begin with: from both ends, so that a large history holds up no small one
 * @returns whether there is more to erase
 */
export async function eraseAgents(database: Database, first: 'oldest' | 'newest'): Promise<boolean> {
  const order = first === 'oldest' ? asc(erasures.id) : desc(erasures.id);
  const [next] = await database.load([
    database
      .select({ id: erasures.id, number: erasures.number })
      .from(erasures)
      .where(eq(erasures.kind, 'agent'))
      .orderBy(order)
      .limit(AGENTS),
  ]);
  if (next.length === 0) return false;
  const gone = listOf(next.map(({ number }) => number));
  const deletions = listOf(next.map(({ id }) => id));
  const answers = sql`
    select principal, key from stored_answers indexed by stored_answers_by_subject
    where subject in (select subject from erasures where id in ${deletions}) limit ${ANSWER_SLICE}`;
  const entries = sql`
    select pos from audit_entries indexed by audit_by_agent where agent in ${gone} order by agent, event, pos limit ${SLICE}`;
  const { build } = database;
  await database.run([
    // The log goes on after what was erased: sequences are never used twice, and time never runs backwards.
    build.run(sql`
      update accounts set
        erased_sequence = max(erased_sequence, last.pos - number * ${span}),
        erased_at = max(erased_at, last.created_at)
      from (
        select pos / ${span} as account, max(pos) as pos, max(created_at) as created_at
        from audit_entries where pos in (${entries}) group by pos / ${span}
      ) as last
      where number = last.account`),
    build.run(sql`delete from audit_entries where pos in (${entries})`),
    build.run(sql`delete from permissions where (account, id) in (
      select account, id from permissions indexed by permissions_by_agent where agent in ${gone} limit ${SLICE})`),
    build.run(sql`delete from agent_statistics where (agent, unit, bucket) in (
      select agent, unit, bucket from agent_statistics where agent in ${gone} limit ${SLICE})`),
    build.run(sql`delete from deliveries where (webhook, id) in (
      select webhook, id from deliveries indexed by deliveries_by_agent where agent in ${gone} limit ${SLICE})`),
    build.run(sql`delete from stored_answers where (principal, key) in (${answers})`),
    build.run(sql`delete from erasures where id in ${deletions}
      and not exists (select 1 from deliveries indexed by deliveries_by_agent where agent = erasures.number)
      and not exists (select 1 from stored_answers indexed by stored_answers_by_subject where subject = erasures.subject)
      and not exists (select 1 from audit_entries indexed by audit_by_agent where agent = erasures.number)
      and not exists (select 1 from permissions indexed by permissions_by_agent where agent = erasures.number)
      and not exists (select 1 from agent_statistics where agent = erasures.number)`),
  ]);
  return true;
}

/**
 * Erases a slice of the deliveries of deleted webhooks. May be stopped and called again at any point.
 * @returns whether there is more to erase
 */
export async function eraseWebhooks(database: Database): Promise<boolean> {
  const [next] = await database.load([
    database.select({ id: erasures.id }).from(erasures).where(eq(erasures.kind, 'webhook')).limit(WEBHOOKS),
  ]);
  if (next.length === 0) return false;
  const gone = sql`(select number from erasures where id in ${listOf(next.map(({ id }) => id))})`;
  const { build } = database;
  await database.run([
    build.run(sql`delete from deliveries where (webhook, id) in (
      select webhook, id from deliveries where webhook in ${gone} limit ${SLICE})`),
    build.run(sql`delete from erasures where kind = ${webhookKind} and number in ${gone}
      and not exists (select 1 from deliveries where webhook = erasures.number)`),
  ]);
  return true;
}

/** Numbers as SQL, however many. */
function listOf(numbers: number[]): SQL {
  return sql`(select value from json_each(${JSON.stringify(numbers)}))`;
}

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
      where subject = ${next.subject} limit ${ANSWER_SLICE})`),
    build.run(sql`delete from erasures where id = ${next.id}
      and not exists (select 1 from stored_answers indexed by stored_answers_by_subject where subject = ${next.subject})
      and not exists (select 1 from agents where account = ${next.number})
      and not exists (select 1 from erased_entries indexed by erased_entries_by_account where account = ${next.number})
      and not exists (select 1 from activity where account = ${next.number})`),
  ]);
  return true;
}
