import { type Id, idBytes } from '../../src/lib/typeid';
import { isNotNeighbour } from './neighbour';
/**
 * Appends `count` copies of the newest entry, each as the denial of a permission of its own.
 * @param agents numbers of the agents that get the denials in turn
 */
export async function fillWithDenials(
  database: D1Database,
  count: number,
  agents: number[],
): Promise<void> {
  const numbers = `(with recursive n(value) as (select 1 union all select value + 1 from n where value < ?1)
    select value, (select agent.value from json_each(?2) as agent where agent.key = n.value % json_array_length(?2)) as agent
    from n) as n`;
  const newest = '(select * from audit_entries order by pos desc limit 1) as e';
  const statements = [
    `insert into permissions
     select p.account, unhex(printf('%022x%010x', n.agent, n.value)), n.agent, p.action, p.resource, p.scope, p.reason,
       p.token_ttl, p.max_uses, 2, null, null, null, null, null, null, null, null, null, null, null,
       e.pos % 4294967296 + n.value, p.expires_at, p.created_at, p.updated_at,
       null, null, null, null, null, null, null, null, null, null, null, null, null, null, null
     from ${newest} join permissions p on p.id = e.permission cross join ${numbers}`,
    `insert into audit_entries
     select e.pos + n.value, n.agent, unhex(printf('%022x%010x', n.agent, n.value)), null, 2, e.action, e.created_at,
       e.ip_address, e.user_agent, e.details, randomblob(22)
     from ${newest} cross join ${numbers}`,
  ];
  await database.batch(
    statements.map((sql) => database.prepare(sql).bind(count, JSON.stringify(agents))),
  );
}

/**
 * Adds `count` copies of a permission of an agent, without entries. They are as old as the
 * permission.
 */
export async function copyPermission(
  database: D1Database,
  agent: string,
  count: number,
): Promise<void> {
  await database
    .prepare(
      `with recursive n(value) as (select 1 union all select value + 1 from n where value < ?)
       insert into permissions
       select account, unhex(hex(substr(id, 1, 6)) || hex(randomblob(10))), agent, action, resource, scope, reason, token_ttl, max_uses,
         status, granted_scope, decided_by, decided_at, decision_reason, policy_id, token_status, token_max_uses,
         token_uses, token_issued_at, token_expires_at, token_key_id, last_entry + n.value, expires_at, created_at, updated_at,
         null, null, null, null, null, null, null, null, null, null, null, null, null, null, null
       from (select * from permissions where agent = (select number from agents where hex(id) = ?) limit 1), n`,
    )
    .bind(
      count,
      idBytes(agent as Id<'agent'>)
        .toHex()
        .toUpperCase(),
    )
    .run();
}

/** The numbers of all agents, oldest first. */
export async function agentNumbers(database: D1Database): Promise<number[]> {
  const { results } = await database
    .prepare(`select number from agents where ${isNotNeighbour('agents')} order by number`)
    .all<{ number: number }>();
  return results.map(({ number }) => number);
}
