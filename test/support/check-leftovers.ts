/**
 * Tables with rows that belong to an account, and those with rows that belong to an agent, by
 * number.
 */
const OF_ACCOUNTS = [
  ...['user_tokens', 'policies', 'activity', 'receivers', 'event_feeds', 'file_results', 'agents'],
  ...['connections', 'connection_calls', 'connection_reads'],
  ...['held_messages', 'notification_settings', 'pending_permissions', 'series_checks'],
];
const OF_AGENTS = [
  ...['permissions', 'audit_entries', 'agent_statistics', 'connection_calls', 'connection_reads'],
];

const [AGENT, ACCOUNT, RECEIVER, CONNECTION] = [0, 1, 2, 4];

/**
 * Finds rows whose owner is gone and that no task will erase. Reads the tables, not the service.
 * @returns the faults, in words
 */
export async function checkLeftovers(database: D1Database): Promise<string[]> {
  const erased = (kind: number | undefined, column = 'number') =>
    `select ${column} from erasures where kind = ${kind}`;
  const accounts = `select number from accounts union all ${erased(ACCOUNT)}`;
  const agents = `select number from agents union all ${erased(AGENT)}`;
  const receivers = `select number from receivers union all ${erased(RECEIVER)}`;
  const subjects = `select id from accounts union all select id from agents
    union all ${erased(ACCOUNT, 'subject')} union all ${erased(AGENT, 'subject')}`;
  const checks: [string, string][] = [
    ...OF_ACCOUNTS.map((name): [string, string] => [name, `account not in (${accounts})`]),
    ...OF_AGENTS.map((name): [string, string] => [name, `agent not in (${agents})`]),
    ['connection_calls', '(account, permission) not in (select account, id from permissions)'],
    [
      'connection_reads',
      `connection not in (select id from connections union all ${erased(CONNECTION, 'subject')})
        and account in (select number from accounts)`,
    ],
    ['permission_contents', '(account, id) not in (select account, id from permissions)'],
    ['permission_events', '(account, permission) not in (select account, id from permissions)'],
    ['reviews', '(account, id) not in (select account, id from permissions)'],
    ['series', '(account, permission) not in (select account, id from permissions)'],
    ['votes', '(account, permission) not in (select account, id from reviews)'],
    ['agent_keys', 'agent not in (select number from agents)'],
    ['deliveries', `receiver not in (${receivers}) or agent not in (${agents})`],
    ['stored_answers', `subject not in (${subjects})`],
    ['trees', 'account not in (select number from accounts)'],
    ['move_numbers', 'account not in (select account from moves)'],
    ['moved_accounts', 'id in (select id from accounts)'],
  ];
  const results = await database.batch<{ rows: number }>(
    checks.map(([name, condition]) =>
      database.prepare(`select count(*) as rows from ${name} where ${condition}`),
    ),
  );
  return checks.flatMap(([name], i) => {
    const rows = results[i]?.results[0]?.rows ?? 0;
    return rows > 0 ? [`${rows} ${name} belong to nothing`] : [];
  });
}
