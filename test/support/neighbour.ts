// Each database of the tests begins with an account that no test looks at, the neighbour. So the
// account under test is never the first of its database, and a query that reads some other account
// finds one. It has no work that is due.

/** The number of the neighbour's account and of its agent: none of a test has it. */
const NEIGHBOUR = 1;

/** The tables in which the neighbour has rows, and the column that has its number there. */
const ROWS: Record<string, string> = {
  accounts: 'number',
  agents: 'account',
  agent_keys: 'agent',
  user_tokens: 'account',
  members: 'account',
  policies: 'account',
  receivers: 'account',
};

/** The condition, as SQL, that leaves the neighbour's rows out of a table. */
export function isNotNeighbour(table: string): string {
  const column = ROWS[table];
  return column ? `${column} <> ${NEIGHBOUR}` : 'true';
}

const MADE_AT = Date.UTC(2026, 0, 1);
/** Another history than any test makes: a test would see it in its own log at once. */
const ERASED_SEQUENCE = 40_000;

/** Returns the statements that make the neighbour in an empty database. */
export function neighbourStatements(database: D1Database): D1PreparedStatement[] {
  // A UUIDv7, as all identifiers are.
  const random = crypto.randomUUID().replaceAll('-', '').slice(13);
  const id = `${MADE_AT.toString(16).padStart(12, '0')}7${random}`;
  const [made, number] = [String(MADE_AT), String(NEIGHBOUR)];
  return [
    `insert into accounts (number, id, email, plan, is_active, erased_sequence, erased_at, created_at, updated_at)
     values (${number}, x'${id}', 'owner@example.com', 3, 1, ${ERASED_SEQUENCE}, ${made}, ${made}, ${made})`,
    `insert into agents (number, account, id, name, key_prefix, metadata, is_active, created_at, updated_at)
     values (1, ${number}, x'${id}', 'Neighbour', 'csa_00000000', '{}', 1, ${made}, ${made})`,
    `insert into agent_keys (hash, agent, created_at) values (randomblob(32), 1, ${made})`,
    `insert into user_tokens (hash, id, account, prefix, scopes, created_at)
     values (randomblob(32), x'${id}', ${number}, 'csu_00000000', '["audit:read"]', ${made})`,
    `insert into members (account, id, email, role, status, active_since, created_at, updated_at)
     values (${number}, x'${id}', 'neighbour@example.com', 0, 2, null, ${made}, ${made})`,
    `insert into policies (account, id, name, effect, actions, resources, conditions, priority, is_active, usage_window_start, usage_requests, usage_sum_millionths, created_at, updated_at)
     values (${number}, x'${id}', 'Everything', 0, '["*"]', '["*"]', '{}', 1000, 1, 0, 0, 0, ${made}, ${made})`,
    `insert into receivers (number, account, id, url, events, is_active, secret, starts_after, starts_after_file_result, created_at, updated_at)
     values (1, ${number}, x'${id}', 'https://neighbour.example', '[0]', 0, x'00', 0, ${ERASED_SEQUENCE}, ${made}, ${made})`,
  ].map((sql) => database.prepare(sql));
}
