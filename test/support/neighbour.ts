// Each database of the tests begins with an account that no test looks at, the neighbour. So the account under test is never
// the first of its database, and a query that reads some other account finds one. It has no work that is due.

/** The number of the neighbour's account: no account of a test has it. */
export const NEIGHBOUR = 1;

const MADE_AT = Date.UTC(2026, 0, 1);
/** Another history than any test makes: from entry 4,000,001 on, which a test would see in its own log at once. */
const ERASED_SEQUENCE = 4_000_000;

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
    `insert into policies (account, id, name, effect, actions, resources, conditions, priority, is_active, created_at, updated_at)
     values (${number}, x'${id}', 'Everything', 0, '["*"]', '["*"]', '{}', 1000, 1, ${made}, ${made})`,
    `insert into webhooks (number, account, id, url, events, is_active, secret, starts_after, starts_after_outcome, created_at, updated_at)
     values (1, ${number}, x'${id}', 'https://neighbour.example', '[0]', 0, x'00', 0, ${ERASED_SEQUENCE}, ${made}, ${made})`,
  ].map((sql) => database.prepare(sql));
}
