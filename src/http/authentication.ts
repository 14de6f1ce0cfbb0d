import type { SQL } from 'drizzle-orm';
import type { Database, Query } from '../db/database';
import { openShard } from '../db/shards';
import { Problem } from '../errors';
import { noteAgentActivity, noteTokenUse } from '../ledger/activity';
import { equalBytes } from '../lib/bytes';
import { parseCredential } from '../lib/credential';
import type { AccountRef, Incoming, Principal, Scope } from './context';
import { findAgentKey, findUserToken, hashCredential, ownerOf } from './credentials';

/** Who calls, their account's database, and what was loaded in the same round trip. */
export interface Authentication {
  principal: Principal;
  database: Database;
  loaded: unknown;
}

/** Makes a query that travels with the authentication; `owner` is SQL for the account's number. */
type PreloadOf = (database: Database, owner: SQL<number>) => Promise<{ query: Query } | null>;

/** The credential of `Authorization: Bearer …` (RFC 6750 section 2.1). */
export function bearerCredential(c: Incoming): string {
  const match = /^Bearer +(\S+)$/i.exec(c.req.header('Authorization') ?? '');
  if (!match?.[1]) throw unauthorized('Send a credential as `Authorization: Bearer <credential>`.');
  return match[1];
}

/** Whether a credential is the operator token. Compares digests, so that time tells nothing of the token. */
export async function isOperatorToken(c: Incoming, credential: string): Promise<boolean> {
  const { keyring, adminToken } = c.var.config;
  const [given] = await keyring.mac('operator-token', credential);
  const [wanted] = await keyring.mac('operator-token', adminToken);
  return equalBytes(given, wanted);
}

/**
 * Finds out who calls, in one round trip, and none for a credential that is malformed.
 * @throws Problem `unauthorized` for a credential that is unknown, expired or malformed; `account_inactive`,
 *   `agent_inactive`
 */
export async function authenticate(c: Incoming, credential: string, preload?: PreloadOf): Promise<Authentication> {
  const form = parseCredential(credential);
  const database = form && openShard(c.env, form.shard, c.var.cost);
  if (!form || !database) throw unauthorized();
  const hashes = await hashCredential(c.var.config.keyring, credential);
  const extra = (await preload?.(database, ownerOf(form.kind, hashes)))?.query ?? null;
  return form.kind === 'user'
    ? authenticateUser(c, database, form.shard, hashes, extra)
    : authenticateAgent(c, database, form.shard, hashes, extra);
}

async function authenticateUser(
  c: Incoming,
  database: Database,
  shard: string,
  hashes: Uint8Array[],
  extra: Query | null,
): Promise<Authentication> {
  const [[row], loaded] = await loadBoth(database, findUserToken(database, hashes), extra);
  const now = c.var.runtime.now();
  if (!row || isOver(row.expiresAt, now)) throw unauthorized();
  const account = activeAccount(row);
  const note = noteTokenUse(database, account.number, row.token, row.lastUsedAt, now);
  if (note) database.takeAlong(note);
  return {
    principal: { kind: 'user', shard, account, token: row.token, scopes: row.scopes as Scope[] },
    database,
    loaded,
  };
}

async function authenticateAgent(
  c: Incoming,
  database: Database,
  shard: string,
  hashes: Uint8Array[],
  extra: Query | null,
): Promise<Authentication> {
  const [[row], loaded] = await loadBoth(database, findAgentKey(database, hashes), extra);
  const now = c.var.runtime.now();
  if (!row || isOver(row.expiresAt, now)) throw unauthorized();
  const account = activeAccount(row);
  if (!row.agentIsActive) {
    throw new Problem('agent_inactive', 'The agent is switched off; its account can set `is_active` to true again.');
  }
  const note = noteAgentActivity(database, row.agentNumber, row.lastActivityAt, now);
  if (note) database.takeAlong(note);
  return {
    principal: { kind: 'agent', shard, account, agent: { number: row.agentNumber, id: row.agentId } },
    database,
    loaded,
  };
}

async function loadBoth<Q extends Query>(
  database: Database,
  query: Q,
  extra: Query | null,
): Promise<[Q['_']['result'], unknown]> {
  const [rows, loaded] = await database.load(extra ? [query, extra] : [query]);
  return [rows as Q['_']['result'], loaded];
}

function isOver(expiresAt: number | null, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

function activeAccount(row: {
  accountNumber: number;
  accountId: AccountRef['id'];
  plan: AccountRef['plan'];
  auditRetentionDays: number | null;
  accountIsActive: boolean;
}): AccountRef {
  if (!row.accountIsActive) {
    throw new Problem('account_inactive', 'The account is switched off; the operator can switch it on again.');
  }
  const { plan, auditRetentionDays } = row;
  return { number: row.accountNumber, id: row.accountId, plan, auditRetentionDays };
}

function unauthorized(detail = 'The credential is malformed, unknown, expired or revoked. Send a valid one.'): Problem {
  return new Problem('unauthorized', detail, {
    headers: { 'WWW-Authenticate': 'Bearer' },
  });
}
