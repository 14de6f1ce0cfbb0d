import type { GrowthService } from './service.ts';

/** How much an account has of what it can have. */
export interface Size {
  /**
   * Permissions with their entries, and as many activity records, deliveries and stored answers.
   */
  permissions: number;
  /** What limits bound: at least the few that every account of the table has. */
  agents?: number;
  members?: number;
  policies?: number;
  webhooks?: number;
  connections?: number;
  /** Requests that wait, one of each agent. */
  waiting?: number;
}

/**
 * How many copies a waiting request gets: a limit bounds how many wait, so that their number does
 * not grow with the log.
 */
const MAX_WAITING_COPIES = 30;

/** How many members who left are named on the pages of the console. */
const NAMED_ON_PAGES = 500;

/** Copies of each export and report. */
const FILES = 30;

const LOG_SPAN = 2 ** 32;

/**
 * Fills an account by copying its rows, as its own requests would have made them. Everything is
 * copied at the time of the newest entry, so that the log stays in order.
 */
export async function fillAccount(
  service: GrowthService,
  account: number,
  size: Size,
): Promise<void> {
  const [{ kinds, pos, at }] = await service.run([
    `select count(*) as kinds, (select max(pos) from audit_entries where pos < ${(account + 1) * LOG_SPAN}) as pos,
       (select max(created_at) from audit_entries where pos < ${(account + 1) * LOG_SPAN}) as at
     from permissions where account = ${account}`,
  ]);
  const copies = new Copies(service, account, at);
  await copies.load();
  await service.run([
    ...copies.ofHistory(Math.ceil(size.permissions / kinds), pos),
    ...copies.ofLimits(size),
    // Each member has a passkey, of those who left a removed one.
    `insert into passkeys (account, id, member, name, public_key, counter, added_at, removed_at)
     select account, randomblob(16), id, 'Laptop', randomblob(77), 0, created_at, iif(status = 3, updated_at, null)
     from members where account = ${account}`,
    // Nobody is sent the copies.
    `update event_feeds set due_at = null,
       position = (select max(pos) from audit_entries where pos < ${(account + 1) * LOG_SPAN})
     where account = ${account}`,
    // As if the copies were counted.
    `update trees set count_due_at = null,
       counted = (select max(pos) % ${LOG_SPAN} from audit_entries where pos < ${(account + 1) * LOG_SPAN})
     where account = ${account}`,
  ]);
}

/** Makes the statements that copy rows of an account. */
class Copies {
  private columns = new Map<string, string[]>();
  private readonly service: GrowthService;
  private readonly account: number;
  private readonly at: number;

  constructor(service: GrowthService, account: number, at: number) {
    this.service = service;
    this.account = account;
    this.at = at;
  }

  async load(): Promise<void> {
    const rows = await this.service.run([
      `select m.name as name, c.name as col from sqlite_master as m join pragma_table_info(m.name) as c
       where m.type = 'table' and m.name not like '\\_%' escape '\\' and m.name not like 'sqlite%'`,
    ]);
    for (const { name, col } of rows)
      this.columns.set(name, [...(this.columns.get(name) ?? []), col]);
  }

  /**
   * Copies the permissions with all that belongs to them, `count` times each, and other records as
   * often.
   */
  ofHistory(count: number, lastPos: number): string[] {
    const { account, at } = this;
    const created = `${at} + n.i / 1000`;
    const ofAccount = `t.account = ${account}`;
    const hasCopy = (id: string) => `exists (
      select 1 from permissions as p where p.account = ${account} and p.id = ${this.id(id)})`;
    return [
      this.copy(
        'permissions',
        count,
        {
          id: this.id('t.id'),
          request_entry: 't.request_entry + n.i',
          external_id: "'copy-' || n.i || '-' || hex(substr(t.id, 14))",
          created_at: created,
          updated_at: created,
        },
        `${ofAccount} and (t.status <> 0 or n.i <= ${MAX_WAITING_COPIES})`,
      ),
      this.copy(
        'audit_entries',
        count,
        {
          pos: `${lastPos} + row_number() over (order by n.i, t.pos)`,
          permission: this.id('t.permission'),
          created_at: created,
        },
        `t.pos > ${account * LOG_SPAN} and t.pos <= ${lastPos} and ${hasCopy('t.permission')}`,
      ),
      ...this.chain(lastPos),
      this.copy(
        'permission_contents',
        count,
        { id: this.id('t.id') },
        `${ofAccount} and ${hasCopy('t.id')}`,
      ),
      this.copy('reviews', count, { id: this.id('t.id') }, `${ofAccount} and ${hasCopy('t.id')}`),
      // Series that have ended.
      this.copy(
        'series',
        count,
        { permission: this.id('t.permission') },
        `${ofAccount} and ${hasCopy('t.permission')}`,
      ),
      this.copy(
        'permission_events',
        count,
        { permission: this.id('t.permission'), is_pending: '0', remind_at: 'null' },
        `${ofAccount} and ${hasCopy('t.permission')}`,
      ),
      this.copy(
        'connection_calls',
        count,
        { name: 'randomblob(33)', permission: this.id('t.permission') },
        `${ofAccount} and ${hasCopy('t.permission')}`,
      ),
      this.copy('connection_reads', count, { day: 't.day - n.i' }, ofAccount),
      this.copy('activity', count, { id: this.id('t.id'), created_at: created }, ofAccount),
      this.copy(
        'deliveries',
        count,
        { id: this.id('t.id'), status: '1', attempts: '1', due_at: 'null', created_at: created },
        `t.receiver in (select number from receivers where account = ${account})`,
      ),
      // Members who left. Their e-mail addresses are free again, so all may have the same one.
      this.copy(
        'members',
        NAMED_ON_PAGES + count,
        {
          ...{ id: this.id('t.id', 'ff'), status: '3', identity: 'null', active_since: 'null' },
          ...{ invitation_hash: 'null', invitation_expires_at: 'null' },
        },
        `${ofAccount} and t.id = (
          select min(id) from members where account = ${account} and role = 2)`,
      ),
      // Files live for a day, so their number does not grow.
      this.copy('files', FILES, { id: this.id('t.id'), created_at: created }, ofAccount),
      this.copy(
        'stored_answers',
        count,
        { key: 'randomblob(32)' },
        `t.principal in (select id from members where account = ${account})`,
      ),
    ];
  }

  /** Copies what limits bound until the account has as many as it may. */
  ofLimits({
    agents = 0,
    members = 0,
    policies = 0,
    webhooks = 0,
    connections = 0,
    waiting = 0,
  }: Size): string[] {
    const { account } = this;
    const ofAccount = `t.account = ${account}`;
    const first = (table: string, which = '') =>
      `${ofAccount} and t.id = (select min(id) from ${table} where account = ${account} ${which})`;
    // The calls of the table make a few more.
    const more = (wanted: number) => Math.max(0, wanted - 20);
    const ofNewAgent = `select max(number) - n.i + 1 from agents where account = ${account}`;
    return [
      this.copy('agents', more(agents), { number: 'null', id: this.id('t.id') }, first('agents')),
      this.copy(
        'members',
        more(members),
        { id: this.id('t.id'), email: "'copy-' || n.i || '@example.com'", identity: 'null' },
        // Approvers.
        first('members', 'and role = 2'),
      ),
      // Review policies.
      this.copy(
        'policies',
        more(policies),
        { id: this.id('t.id') },
        first('policies', 'and effect = 2'),
      ),
      this.copy(
        'connections',
        more(connections),
        { id: this.id('t.id'), slug: "'copy-' || n.i" },
        first('connections'),
      ),
      this.copy(
        'receivers',
        more(webhooks),
        { number: 'null', id: this.id('t.id'), inbound_hash: 'null' },
        first('receivers', 'and kind = 0'),
      ),
      this.copy(
        'permissions',
        waiting === 0 ? 0 : waiting - 2 * MAX_WAITING_COPIES - 1_000,
        {
          id: this.id('t.id', 'ff'),
          agent: `(${ofNewAgent})`,
          last_entry: 't.last_entry + n.i',
          external_id: 'null',
        },
        first(
          'permissions',
          `and status = 0 and id in (select id from reviews where account = ${account})`,
        ),
      ),
      `insert into reviews select ${this.list('reviews', { id: 'p.id' })}
       from permissions as p cross join (
         select * from reviews where account = ${account} order by id limit 1
       ) as t
       where p.account = ${account} and p.status = 0 and hex(substr(p.id, 7, 1)) = 'FF'`,
    ].filter((statement) => statement !== '');
  }

  /** Chains the copied entries of each permission. */
  private chain(lastPos: number): string[] {
    const { account } = this;
    const copied = `from audit_entries where pos > ${lastPos} and pos < ${(account + 1) * LOG_SPAN}`;
    return [
      `update audit_entries set previous = before.sequence from (
         select pos, lag(pos % ${LOG_SPAN}) over (partition by permission order by pos) as sequence ${copied}
       ) as before where audit_entries.pos = before.pos`,
      `update permissions set last_entry = newest.sequence from (
         select permission, max(pos % ${LOG_SPAN}) as sequence ${copied} group by permission
       ) as newest where account = ${account} and id = newest.permission`,
    ];
  }

  /** The id of a copy of a row: no other copy of a row has it. */
  private id(column: string, mark = '00'): string {
    return `unhex(printf('%012x${mark}%06x', ${this.at} + n.i / 1000, n.i) || hex(substr(${column}, 11, 6)))`;
  }

  private list(table: string, overrides: Record<string, string>): string {
    const columns = this.columns.get(table);
    if (!columns) throw new Error(`there is no table ${table}`);
    return columns.map((column) => overrides[column] ?? `t."${column}"`).join(', ');
  }

  /** Copies each row `t` of a table that a condition finds `count` times, numbered `n.i` from 1. */
  private copy(
    table: string,
    count: number,
    overrides: Record<string, string>,
    where: string,
  ): string {
    if (count <= 0) return '';
    return `insert into ${table} select ${this.list(table, overrides)}
      from (with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count}) select i from n) as n
      cross join (select * from ${table}) as t where ${where}`;
  }
}
