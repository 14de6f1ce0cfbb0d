import { OUTCOME_CHECK } from './check-outcomes';
import { PENDING_CHECK } from './check-pending';
import { statisticsChecks } from './check-statistics';

/**
 * Compares the state of every permission and token in a database with the audit log, and the
 * counters with both. Reads the tables, not the service.
 * @returns the faults, in words
 */
export async function checkIntegrity(database: D1Database): Promise<string[]> {
  const checks: [string, string][] = [
    PENDING_CHECK,
    [
      'a state without its entry',
      `select hex(p.id) as subject from permissions p
       where not exists (select 1 from audit_entries e where e.pos = p.account * 4294967296 + p.last_entry
         and e.permission = p.id)`,
    ],
    [
      'an entry without its permission',
      // A permission of a deleted agent is erased with the first of its entries.
      `select e.pos as subject from audit_entries e
       where not exists (select 1 from permissions p where p.id = e.permission and p.agent = e.agent
         and p.account = e.pos / 4294967296)
       and not exists (select 1 from erasures where kind = 0 and number = e.agent)`,
    ],
    [
      'an entry that does not name the entry before of its permission',
      `select pos as subject from (
         select pos, agent, previous, lag(pos % 4294967296) over (partition by pos / 4294967296, permission order by pos) as before
         from audit_entries
       ) where previous is not before
       -- The sealed entries of a deleted agent are erased before the others.
       and not exists (select 1 from erasures where kind = 0 and number = agent)`,
    ],
    [
      'a permission whose events do not lead to its state',
      `select hex(id) as subject from (
         select p.*, coalesce(sum(e.event = 0), 0) as requests, coalesce(sum(e.event = 1), 0) as approvals,
           coalesce(sum(e.event = 2), 0) as denials, coalesce(sum(e.event = 3), 0) as uses,
           coalesce(sum(e.event = 4), 0) as expiries, coalesce(sum(e.event = 5), 0) as revocations,
           coalesce(sum(e.event = 6), 0) as token_expiries
         from permissions p left join audit_entries e on e.permission = p.id group by p.account, p.id
       ) where not (
         requests = 1
         and approvals = (status = 1) and denials = (status = 2)
         and expiries = (status = 3) and token_expiries = (token_status is not null and token_status = 2)
         and revocations = (token_status is not null and token_status = 3)
         and uses = coalesce(token_uses, 0)
         and (token_status is null) = (status <> 1)
         and (token_status is null or token_status <> 1 or token_uses = token_max_uses)
       )`,
    ],
    [
      'a gap or a double in an account’s sequence, or time that runs backwards',
      `select pos as subject from (
         select pos, created_at, lag(pos) over w as before, lag(created_at) over w as earlier from audit_entries
         window w as (partition by pos / 4294967296 order by pos)
       ) where (before is null and pos % 4294967296 <> 1) or pos <> before + 1 or created_at < earlier`,
    ],
    [
      'a series that approved more than it has room for',
      'select hex(permission) as subject from series where used > requests or used < 1',
    ],
    [
      'series whose counts are not those of the log',
      `select agents.number as subject from agents
       where not exists (select 1 from erased_entries where erased_entries.account = agents.account)
       and (
         select coalesce(sum(used - 1), 0) from series
         where series.account = agents.account and series.agent = agents.number
       ) <> (
         select count(*) from audit_entries e where e.agent = agents.number and e.event = 1
         and iif(json_valid(e.details), e.details ->> 'decided_via' = 'series', 0)
       )`,
    ],
    OUTCOME_CHECK,
    ...statisticsChecks(),
  ];
  const results = await database.batch<{ subject: string }>(
    checks.map(([, sql]) => database.prepare(sql)),
  );
  return checks.flatMap(([fault], i) => {
    const subjects = results[i]?.results.map(({ subject }) => subject) ?? [];
    return subjects.length > 0 ? [`${fault}: ${subjects.join(', ')}`] : [];
  });
}
