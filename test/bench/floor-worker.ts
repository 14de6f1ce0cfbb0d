import { type Context, Hono } from 'hono';

/** The statement that inserts a copy of a row, with other values for some of its columns. */
async function copyStatement(
  database: D1Database,
  table: string,
  values: Record<string, string>,
  source: string,
): Promise<string> {
  const { results } = await database
    .prepare('select name from pragma_table_info(?)')
    .bind(table)
    .all<{ name: string }>();
  const names = results.map(({ name }) => name);
  const columns = names.map((name) => values[name] ?? `source.${name}`);
  return `insert into ${table} (${names.join(', ')}) select ${columns.join(', ')} from ${source}`;
}

const LOG_SPAN = 2 ** 32;
const PERMISSION = 'permissions as source where account = ?1 and id = unhex(?2)';
const NEWEST = `
  from audit_entries where pos > ?1 * ${LOG_SPAN} and pos < (?1 + 1) * ${LOG_SPAN}
  order by pos desc limit 1`;
/** What was asked for, and when: bound after the account's number and the permission. */
const ASKED = { action: '?3', resource: '?4', scope: '?5', created_at: '?6', updated_at: '?6' };
/** A request is pending, so that it is in the same indexes as one of the service. */
const UNDECIDED = {
  ...{ status: '0', last_entry: `(select pos % ${LOG_SPAN} ${NEWEST})` },
  ...{ external_id: 'null', decided_by: 'null', decided_at: 'null', decision_reason: 'null' },
  ...{ granted_scope: 'null', token_status: 'null', token_max_uses: 'null', token_uses: 'null' },
  ...{ token_issued_at: 'null', token_expires_at: 'null', token_key_id: 'null' },
};

let statements: Promise<{ request: string; entry: string }> | undefined;

function prepareStatements(database: D1Database) {
  statements ??= (async () => ({
    request: await copyStatement(
      database,
      'permissions',
      { ...UNDECIDED, ...ASKED, id: 'randomblob(16)' },
      PERMISSION,
    ),
    entry: await copyStatement(
      database,
      'audit_entries',
      { pos: `(select pos + 1 ${NEWEST})`, created_at: '?2' },
      `(select * ${NEWEST}) as source`,
    ),
  }))();
  return statements;
}

/**
 * A Worker that does the least with which a service could answer: Hono, and for each call one or two
 * statements that read what the answer says, and write the same rows as the service. It
 * authenticates, validates and checks nothing, and answers rows as they are. Each call names the
 * account's number and the permission.
 */
const app = new Hono<{ Bindings: { DB: D1Database } }>();

type FloorContext = Context<{ Bindings: { DB: D1Database } }>;

/** Runs statements as one batch, and reports their cost as the service does. */
async function run(c: FloorContext, ...batch: D1PreparedStatement[]): Promise<object[]> {
  const [first, ...others] = await c.env.DB.batch<object>(batch);
  const results = [first, ...others].filter((result) => result !== undefined);
  const read = results.reduce((total, { meta }) => total + meta.rows_read, 0);
  const written = results.reduce((total, { meta }) => total + meta.rows_written, 0);
  c.header('Server-Timing', `d1;desc="trips=1 read=${read} written=${written}"`);
  return first?.results ?? [];
}

app.get('/healthz', (c) => c.json({ status: 'ok' }));

/** Sends batches of empty statements, to show what round trips and statements cost alone. */
app.get('/:account/:id/batches', async (c) => {
  const sizes = (c.req.query('sizes') ?? '').split(',').map(Number);
  for (const size of sizes)
    await run(c, ...Array.from({ length: size }, () => c.env.DB.prepare('select 1')));
  return c.json({ status: 'ok' });
});

app.get('/:account/:id/read', async (c) => {
  const { account, id } = c.req.param();
  const select = c.env.DB.prepare(`select * from ${PERMISSION}`).bind(Number(account), id);
  const [found] = await run(c, select);
  return c.json(found);
});

app.get('/:account/:id/page', async (c) => {
  const start = Number(c.req.param('account')) * LOG_SPAN;
  const select = c.env.DB.prepare(
    `select audit_entries.*, agents.id as agent_id
    from audit_entries left join agents on agents.number = audit_entries.agent
    where pos > ? and pos < ? order by pos desc limit 51`,
  ).bind(start, start + LOG_SPAN);
  return c.json({ data: await run(c, select) });
});

app.post('/:account/:id/ask', async (c) => {
  const { account, id } = c.req.param();
  const asked = await c.req.json();
  const { request, entry } = await prepareStatements(c.env.DB);
  const { action, resource, scope } = asked;
  const now = Date.now();
  await run(
    c,
    c.env.DB.prepare(entry).bind(Number(account), now),
    c.env.DB.prepare(request).bind(
      ...[Number(account), id, action, resource, JSON.stringify(scope), now],
    ),
  );
  return c.json(asked, 201);
});

app.post('/:account/:id/use', async (c) => {
  const { account, id } = c.req.param();
  const used = await c.req.json();
  const { entry } = await prepareStatements(c.env.DB);
  await run(
    c,
    c.env.DB.prepare(entry).bind(Number(account), Date.now()),
    c.env.DB.prepare(
      'update permissions set token_uses = token_uses + 1 where account = ?1 and id = unhex(?2)',
    ).bind(Number(account), id),
  );
  return c.json(used);
});

export default app;
