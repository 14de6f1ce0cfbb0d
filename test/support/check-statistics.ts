const SPAN = 2 ** 32;
const DAY = 24 * 3_600_000;
/** How many days the service keeps statistics. */
const DAYS_KEPT = 366;
/** For how many days it keeps them by the hour. */
const DAYS_IN_HOURS = 31;

const COUNTERS = [
  'requests',
  'approved',
  'denied',
  'expired',
  'approval_time',
  'tokens_issued',
  'tokens_used',
  'tokens_revoked',
];

/**
 * Checks that compare the statistics of agents with the entries that are counted, as pairs of a
 * fault in words and a query that finds its subjects. Statistics and entries must agree at any
 * moment. Skips accounts whose entries retention has erased, but for the number of requests, and
 * accounts that are not copied completely.
 * @param now without it, the statistics must be too young to be folded or deleted
 */
export function statisticsChecks(now = 0): [string, string][] {
  const today = Math.floor(now / DAY);
  const sums = COUNTERS.map((name) => `sum(${name}) as ${name}`).join();
  const figures = (of: string) => COUNTERS.map((name) => `${of}.${name}`).join();
  const isWhole = `agent in (select number from agents
    where account in (select number from accounts)
      and account not in (select account from erased_entries where reason = 1))`;
  const isKept = `day > ${today - DAYS_KEPT}`;
  const entries = `
    select e.agent, e.event, e.created_at as at, p.created_at as requested,
      e.details ->> 'expired' is not 'token' as is_of_request,
      row_number() over (partition by p.account, p.id, e.event order by e.pos) as nth
    from audit_entries e
    join trees on trees.account = e.pos / ${SPAN} and trees.counted >= e.pos % ${SPAN}
    join permissions p on p.account = trees.account and p.id = e.permission`;
  const expected = `
    select agent, day, ${sums} from (
      select agent, requested / ${DAY} as day, event = 0 as requests, event = 1 as approved,
        event = 2 as denied, event = 4 and is_of_request as expired,
        iif(event = 1, max(at - requested, 0), 0) as approval_time,
        0 as tokens_issued, 0 as tokens_used, 0 as tokens_revoked
      from (${entries}) where event in (0, 1, 2, 4)
      union all
      select agent, at / ${DAY}, 0, 0, 0, 0, 0, event = 1, event = 3 and nth = 1, event = 5
      from (${entries}) where event in (1, 3, 5)
    ) where ${isWhole} and ${isKept} group by agent, day
    having ${COUNTERS.map((name) => `sum(${name})`).join(' + ')} > 0`;
  const actual = `
    select agent, day, ${sums}
    from (select *, iif(unit = 0, bucket, bucket / 24) as day from agent_statistics)
    where ${isWhole} and ${isKept} group by agent, day`;
  return [
    [
      'statistics that differ from the counted entries',
      `select coalesce(s.agent, e.agent) as subject from (${actual}) s
       full join (${expected}) e on e.agent = s.agent and e.day = s.day
       where (${figures('s')}) is not (${figures('e')})`,
    ],
    [
      'statistics without a counted request',
      `select p.agent as subject from permissions p join agents on agents.number = p.agent
       join accounts on accounts.number = p.account
       where p.created_at >= ${(today - DAYS_KEPT + 1) * DAY} and not exists (
         select 1 from audit_entries e join trees on trees.account = p.account
         where e.permission = p.id and e.event = 0 and e.pos > p.account * ${SPAN} + trees.counted
           and e.pos < (p.account + 1) * ${SPAN}
       )
       group by p.agent
       having count(*) > coalesce((select sum(requests) from agent_statistics s where s.agent = p.agent), 0)`,
    ],
    [
      'hours that were folded too early',
      `select agent as subject from agent_statistics
       where unit = 0 and bucket > ${today - DAYS_IN_HOURS}`,
    ],
    [
      'a log that is counted beyond its end, or that nobody will count',
      `select account as subject from (
         select trees.account, counted, count_due_at, max(
           coalesce((select erased_sequence from accounts where number = trees.account), 0),
           coalesce((
             select max(pos) % ${SPAN} from audit_entries
             where pos > trees.account * ${SPAN} and pos < (trees.account + 1) * ${SPAN}
           ), 0)
         ) as newest from trees
       ) where counted > newest or (counted < newest) <> (count_due_at is not null)`,
    ],
  ];
}
