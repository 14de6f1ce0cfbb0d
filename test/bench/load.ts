import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { EntryDetails } from '../../src/ledger/entry';
import { storedDetails } from '../../src/ledger/stored-details.ts';
import { idBytes, withPrefix } from '../../src/lib/typeid.ts';
import type { Tenant } from '../support/local/tenant.ts';
import { countHistory } from './counters.ts';
import { EVENTS, type History, TOKEN_TTL } from './history.ts';
import { entryRandom, permissionBytes, permissionId } from './identifiers.ts';
import { replay } from './states.ts';
import type { LoadedTenant } from './tenant.ts';

const LOG_SPAN = 2 ** 32;
/** The code of the expiry of a token in the log; that of a request has the code of `expire`. */
const TOKEN_EXPIRE = 6;
/** A number that no agent in the database has. */
const GONE_AGENT = 2 ** 40;

/**
 * Writes histories directly into the file of the database, which no other process may have open.
 * Drops the indexes and creates them again after the rows, which takes a third of the time.
 * @param tenants accounts with their histories; a history may have more agents than its account:
 *   those are deleted
 */
export function loadHistories(
  file: string,
  tenants: { tenant: Tenant; history: History }[],
): LoadedTenant[] {
  const database = new DatabaseSync(file);
  database.exec(
    'pragma synchronous = off; pragma cache_size = -1000000; pragma temp_store = memory; begin',
  );
  const indexes = dropIndexes(database, ['audit_entries', 'permissions']);
  const loaded = tenants.map(({ tenant, history }) => loadTenant(database, tenant, history));
  for (const index of indexes) database.exec(index);
  database.exec('commit; pragma wal_checkpoint(truncate)');
  database.close();
  return loaded;
}

function dropIndexes(database: DatabaseSync, tables: string[]): string[] {
  const query = database.prepare(
    "select name, sql from sqlite_master where type = 'index' and sql is not null and tbl_name = ?",
  );
  const indexes = tables.flatMap((table) => query.all(table) as { name: string; sql: string }[]);
  for (const { name } of indexes) database.exec(`drop index ${name}`);
  return indexes.map(({ sql }) => sql);
}

function loadTenant(database: DatabaseSync, tenant: Tenant, history: History): LoadedTenant {
  const account = database
    .prepare('select number from accounts where id = ?')
    .get(idBytes(tenant.id));
  const number = Number(account?.number);
  const findAgent = database.prepare('select number from agents where account = ? and id = ?');
  const agentNumbers = tenant.agents.map(({ id }) =>
    Number(findAgent.get(number, idBytes(id))?.number),
  );
  const loaded = { ...tenant, number, agentNumbers, history };
  insertEntries(database, loaded);
  insertPermissions(database, loaded);
  insertStatistics(database, loaded);
  return loaded;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** How many days of statistics the service keeps, and how many of them by the hour. */
const DAYS_KEPT = 366;
const DAYS_IN_HOURS = 31;

/** Inserts the statistics, as if all entries were counted, and old hours folded into days. */
function insertStatistics(database: DatabaseSync, tenant: LoadedTenant): void {
  const { agentNumbers, history, number: account } = tenant;
  const insert = database.prepare(
    'insert into agent_statistics values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const today = Math.floor((history.time.at(-1) as number) / DAY);
  const firstInHours = today - DAYS_IN_HOURS + 1;
  for (const [unit, length, first, end] of [
    [0, DAY, today - DAYS_KEPT + 1, firstInHours],
    [1, HOUR, 24 * firstInHours, Number.POSITIVE_INFINITY],
  ] as const) {
    for (const [agent, buckets] of countHistory(history, length, first)) {
      const number = agentNumbers[agent];
      if (number === undefined) continue;
      for (const [bucket, counters] of buckets)
        if (bucket < end) insert.run(number, unit, bucket, ...Object.values(counters));
    }
  }
  database
    .prepare(
      `insert into trees (account, counted)
       select ?1, max(pos) % ${LOG_SPAN} from audit_entries where pos > ?1 * ${LOG_SPAN} and pos < (?1 + 1) * ${LOG_SPAN}
       on conflict (account) do update set counted = excluded.counted`,
    )
    .run(account);
}

function insertEntries(database: DatabaseSync, tenant: LoadedTenant): void {
  const { number, history } = tenant;
  const insert = database.prepare(
    'insert into audit_entries values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const last = new Uint32Array(history.agent.length);
  const approved = new Uint8Array(history.agent.length);
  for (let at = 0; at < history.time.length; at++) {
    const permission = history.permission[at] as number;
    const previous = last[permission] || null;
    last[permission] = at + 1;
    const event = history.event[at] as number;
    if (EVENTS[event] === 'approve') approved[permission] = 1;
    if (history.erased[at]) continue;
    const time = history.time[at] as number;
    const isExpiry = EVENTS[event] === 'expire';
    const code = isExpiry && approved[permission] ? TOKEN_EXPIRE : event;
    insert.run(
      number * LOG_SPAN + at + 1,
      agentOf(tenant, permission),
      permissionBytes(number, permission, history.requestedAt[permission] as number),
      previous,
      code,
      actionOf(history, permission),
      time,
      // The service itself writes entries of expiry, so they have no address.
      isExpiry ? '' : '2001:db8::17',
      isExpiry ? 'countersign' : 'countersign-bench',
      storedDetails(describeEntry(tenant, permission, code)),
      entryRandom(number, at + 1),
    );
  }
}

/** The details of an entry, with the members that the service writes, and its permission. */
function describeEntry({ number, ...tenant }: LoadedTenant, permission: number, code: number) {
  const { history } = tenant;
  const id = permissionId(number, permission, history.requestedAt[permission] as number);
  const word = EVENTS[code] ?? 'expire';
  const isDecided = word === 'approve' || word === 'deny' || word === 'revoke';
  const hasDigests = word === 'request' || word === 'approve' || word === 'deny';
  const hasToken =
    word === 'approve' || word === 'use' || word === 'revoke' || code === TOKEN_EXPIRE;
  const details: EntryDetails = {
    action: actionOf(history, permission),
    resource: `mailbox:customer-${permission % 5_000}`,
    scope: { max_recipients: 10, folders: ['inbox', 'drafts'] },
    decided_by: isDecided ? tenant.id : null,
    decision_reason: isDecided ? 'as agreed with the owner of the mailbox' : null,
    policy_id: null,
    ...(hasToken && { token_id: withPrefix('token', id) }),
    ...(hasDigests && { input_digest: null, preview_digest: null }),
    ...(isDecided && { decided_via: 'api' }),
    ...(word === 'expire' && { expired: code === TOKEN_EXPIRE ? 'token' : 'request' }),
  };
  return { permission: id, details };
}

/** Inserts the permissions that still have an entry. */
function insertPermissions(database: DatabaseSync, tenant: LoadedTenant): void {
  const { history, number } = tenant;
  const states = replay(history);
  // Without title, digests, external id, time of erasure, MAC, series, outcome and connection.
  const marks = [...Array(25).fill('?'), ...Array(15).fill('null')].join(', ');
  const insert: StatementSync = database.prepare(`insert into permissions values (${marks})`);
  const order = Uint32Array.from(history.agent.keys()).sort(
    (a, b) => (history.requestedAt[a] as number) - (history.requestedAt[b] as number),
  );
  for (const permission of order) {
    if (states.entries[permission] === 0) continue;
    const requestedAt = history.requestedAt[permission] as number;
    const decidedAt = states.decidedAt[permission] || null;
    const token = states.token[permission] ? (states.token[permission] as number) - 1 : null;
    const last = states.last[permission] as number;
    const maxUses = history.maxUses[permission] as number;
    const issued = <T>(value: T): T | null => (token === null ? null : value);
    insert.run(
      number,
      permissionBytes(number, permission, requestedAt),
      agentOf(tenant, permission),
      actionOf(history, permission),
      `mailbox:customer-${permission % 5_000}`,
      '{"max_recipients":10,"folders":["inbox","drafts"]}',
      'to answer the open question',
      TOKEN_TTL / 1_000,
      maxUses,
      states.status[permission] as number,
      issued('{"max_recipients":10,"folders":["inbox","drafts"]}'),
      decidedAt && tenant.id,
      decidedAt,
      decidedAt && 'as agreed with the owner of the mailbox',
      null,
      token,
      issued(maxUses),
      issued(states.uses[permission] as number),
      issued(decidedAt),
      issued((decidedAt ?? 0) + TOKEN_TTL),
      issued('retired-key'),
      last + 1,
      requestedAt + (history.expiresIn[permission] as number),
      requestedAt,
      history.time[last] as number,
    );
  }
}

function agentOf({ agentNumbers, history }: LoadedTenant, permission: number): number {
  return agentNumbers[history.agent[permission] as number] ?? GONE_AGENT;
}

function actionOf(history: History, permission: number): string {
  return history.actions[history.action[permission] as number] as string;
}
