import type { Database } from '../../db/database';
import type { Runtime } from '../../env';
import { notFound, Problem } from '../../errors';
import type { AgentContext } from '../../http/context';
import type { ConnectionRow } from '../connection';
import { type Match, matchRule } from '../rules/match-rule';
import { openSecret } from '../secret';
import type { CallLookup } from './earlier-calls';
import type { LoadedCall, OpenedCall } from './load-call';
import { type ParsedCall, parseCall } from './parse-call';

/** A call that an agent makes through a connection. */
export interface IncomingCall {
  request: Request;
  /** The path and query below the address of the proxy, as received. */
  target: string;
  body: Uint8Array<ArrayBuffer>;
  /** The address of the proxy, under which the paths of the connection stand. */
  proxyBase: string;
  /** The running clock. */
  runtime: Runtime;
  /** The database in which the account was last found. */
  database: () => Database;
  /** Authenticates the agent again, and loads what decides the call as it is now. */
  reopen: (lookup: CallLookup | null) => Promise<OpenedCall>;
  waitUntil: (work: Promise<unknown>) => void;
}

/** A call as the settings of its connection read it. */
export interface ReadCall {
  connection: ConnectionRow;
  /** The credential for the other service. */
  secret: string | null;
  call: ParsedCall;
  match: Match;
}

/**
 * The connection of a call.
 * @throws Problem `not_found` if there is none for the agent; `connection_refused` if it is
 *   switched off
 */
export function requireCallableConnection(
  { principal }: AgentContext,
  loaded: LoadedCall,
): ConnectionRow {
  const connection = loaded.connection?.[0];
  if (!connection?.agentIds.includes(principal.agent.id)) throw notFound('connection');
  if (connection.isActive) return connection;
  throw new Problem('connection_refused', 'The connection is switched off.');
}

/** Reads a call by the settings of its connection, and finds the rule that fits it. */
export async function readCall(
  { request, target, body }: IncomingCall,
  { config, principal }: AgentContext,
  connection: ConnectionRow,
): Promise<ReadCall> {
  const call = await parseCall(request, target, body, connection);
  const match = matchRule(connection, call);
  return {
    connection,
    secret: await openSecret(config, principal.account.id, connection),
    call,
    match,
  };
}
