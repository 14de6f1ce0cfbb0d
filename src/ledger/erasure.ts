import { asc, eq, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../db/database';
import { agentKeys, agents, erasures, userTokens } from '../db/schema';
import { LOG_SPAN } from './ledger';

/** Rows of one kind that one statement deletes: D1 answers nobody else meanwhile. */
const SLICE = 500;

/**
 * Erases a slice of what deleted agents and accounts left behind. May be stopped and called again at any point.
 * @returns whether there is more to erase
 */
export async function eraseSlice(database: Database): Promise<boolean> {
  const [[next]] = await database.load([database.select().from(erasures).orderBy(asc(erasures.id)).limit(1)]);
  if (!next) return false;
  const erase = next.kind === 'agent' ? eraseOfAgent : eraseOfAccount;
  const done = await erase(database, next.number);
  if (done) await database.run([database.build.delete(erasures).where(eq(erasures.id, next.id))]);
  return true;
}

/** Erases permissions, audit entries and statistics of an agent that is gone. */
async function eraseOfAgent(database: Database, agent: number): Promise<boolean> {
  const entries = sql`select pos from audit_entries indexed by audit_by_agent where agent = ${agent} limit ${SLICE}`;
  const rows = (table: string, key: string, index: string): SQL =>
    sql
      .raw(`delete from ${table} where (${key}) in (select ${key} from ${table} ${index} where agent = `)
      .append(sql`${agent} limit ${SLICE})`);
  const results = await database.run([
    // The log goes on after what was erased: sequences are never used twice, and time never runs backwards.
    database.build.run(sql`
      update accounts set
        erased_sequence = max(erased_sequence, last.pos - number * ${sql.raw(String(LOG_SPAN))}),
        erased_at = max(erased_at, last.created_at)
      from (select pos, created_at from audit_entries where pos = (select max(pos) from (${entries}))) as last
      where number = last.pos / ${sql.raw(String(LOG_SPAN))}`),
    database.build.run(sql`delete from audit_entries where pos in (${entries})`),
    database.build.run(rows('permissions', 'account, id', 'indexed by permissions_by_agent')),
    database.build.run(rows('agent_statistics', 'agent, unit, bucket', '')),
  ]);
  return results.slice(1).every(({ meta }) => meta.changes === 0);
}

/** Gives up an account's agents for erasure, which everything else belongs to, and lastly its tokens. */
async function eraseOfAccount(database: Database, account: number): Promise<boolean> {
  const slice = sql`(select ${agents.number} from ${agents} where ${agents.account} = ${account} limit ${SLICE})`;
  const [, , gone] = await database.run([
    database.build.run(sql`insert into erasures (kind, number) select 0, number from agents where number in ${slice}`),
    database.build.delete(agentKeys).where(sql`${agentKeys.agent} in ${slice}`),
    database.build.delete(agents).where(sql`${agents.number} in ${slice}`),
    database.build.delete(userTokens).where(eq(userTokens.account, account)),
  ]);
  return gone.meta.changes === 0;
}
