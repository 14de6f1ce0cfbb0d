import { formatHexId } from '../../src/lib/typeid';

const SPAN = 2 ** 32;
/** How long deliveries are kept, in milliseconds. */
const DELIVERY_LIFE = 30 * 86_400_000;

/**
 * Compares the deliveries of all receivers with the logs, and checks that a worker will find
 * whatever is pending. Reads the tables, not the service.
 * @param now milliseconds since the epoch
 * @returns the faults, in words
 */
export async function checkDeliveries(database: D1Database, now: number): Promise<string[]> {
  const failed = 'coalesce(json_array_length(failures), 0)';
  const checks: [string, string][] = [
    [
      'an account with a feed and no active receiver, or the other way round',
      `select account as subject from event_feeds where account not in (select account from receivers where is_active)
       union all
       select account from receivers where is_active and account not in (select account from event_feeds)`,
    ],
    [
      'pending events that are not marked as due',
      `select account as subject from event_feeds f where due_at is null and (
         exists (select 1 from audit_entries where pos > f.position and pos < (f.account + 1) * ${SPAN})
         or exists (select 1 from file_results where account = f.account)
         or exists (select 1 from permission_events where account = f.account and is_pending)
       )`,
    ],
    [
      'a feed that is ahead of its log',
      `select f.account as subject from event_feeds f join accounts a on a.number = f.account
       where position > max(account * ${SPAN} + erased_sequence,
         coalesce((select max(pos) from audit_entries where pos < (f.account + 1) * ${SPAN}), 0))`,
    ],
    [
      'two deliveries of one event',
      `select receiver || ' of ' || coalesce(pos, payload, hex(permission)) as subject from deliveries where original is null
       group by receiver, event, pos, payload, permission, reminder, member, slack_channel having count(*) > 1`,
    ],
    [
      'a delivery without a payload',
      `select hex(id) as subject from deliveries
       where (pos is not null) + (payload is not null) + (permission is not null) <> 1
         or (pos is null and permission is null) <> (agent is null)`,
    ],
    [
      'a delivery about a permission without the event that it sends',
      `select hex(d.id) as subject from deliveries d join receivers r on r.number = d.receiver
       join permissions p on p.account = r.account and p.id = d.permission
       where not exists (
         select 1 from permission_events e
         where e.account = r.account and e.permission = d.permission and e.event = d.event and payload is not null
       )`,
    ],
    [
      'a delivery whose status does not follow from its attempts',
      `select hex(id) as subject from deliveries where not case status
         when 0 then due_at is not null and completed_at is null and attempts = ${failed}
         when 1 then due_at is null and completed_at is not null and last_error is null and attempts = ${failed} + 1
         else due_at is null and completed_at is not null and last_error is not null and attempts = ${failed}
       end`,
    ],
    [
      'a pending delivery of a receiver that is not marked as due',
      `select hex(d.id) as subject from deliveries d join receivers r on r.number = d.receiver
       where status = 0 and d.disable_count = r.disable_count and not (is_active and r.due_at is not null)`,
    ],
    [
      'a canceled delivery of a receiver that is not marked as due',
      `select hex(d.id) as subject from deliveries d join receivers r on r.number = d.receiver
       where status = 0 and d.disable_count < r.disable_count and not (has_canceled and r.due_at is not null)`,
    ],
    [
      'a claim that never expires',
      'select number as subject from receivers where lease is not null and due_at is null',
    ],
    [
      'deliveries that are never erased',
      `select number as subject from receivers
       where erase_at is null and exists (select 1 from deliveries where receiver = number)`,
    ],
  ];
  const faults = await findWrongDeliveries(database, now);
  const found = await database.batch<{ subject: string }>(
    checks.map(([, sql]) => database.prepare(sql)),
  );
  for (const [i, { results }] of found.entries()) {
    if (results.length > 0)
      faults.push(`${checks[i]?.[0]}: ${results.map(({ subject }) => subject).join()}`);
  }
  return faults;
}

/**
 * Finds entries that do not have one delivery for each active receiver whose filters match, and
 * none for others. Valid as long as no test changes the filters of a receiver.
 */
async function findWrongDeliveries(database: D1Database, now: number): Promise<string[]> {
  const { results } = await database
    .prepare(
      `select r.number as receiver, agent_ids as wanted, e.pos, hex(a.id) as agent, (
         select count(*) from deliveries d where d.receiver = r.number and d.pos = e.pos and original is null
       ) as made
       from receivers r join event_feeds f on f.account = r.account
       join audit_entries e on e.pos > starts_after and e.pos <= position
       join agents a on a.number = e.agent
       where r.is_active and exists (select 1 from json_each(events) where value = 'audit.created')
         and e.created_at > ?`,
    )
    .bind(now - DELIVERY_LIFE)
    .all<{ receiver: number; wanted: string | null; pos: number; agent: string; made: number }>();
  return results.flatMap(({ receiver, wanted, pos, agent, made }) => {
    const isWanted = wanted === null || JSON.parse(wanted).includes(formatHexId('agent', agent));
    return made === (isWanted ? 1 : 0)
      ? []
      : [`${made} deliveries of entry ${pos} to receiver ${receiver}`];
  });
}
