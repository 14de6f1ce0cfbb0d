import { and, eq, type SQL, sql } from 'drizzle-orm';
import { aliased } from '../../db/columns';
import type { Reader } from '../../db/database';
import { isAgentOfPermission } from '../../db/permission-joins';
import { agents, connectionCalls, permissions } from '../../db/schema';
import type { Guard } from '../../ledger/guard';
import { SECOND } from '../../lib/time';
import { type Id, idBytes, smallestIdAt } from '../../lib/typeid';
import { permissionColumns } from '../../permissions/find-permission';
import { CALL_LIFETIME } from './limits';

/** By what earlier calls are found that lead to a permission already. */
export interface CallLookup {
  name: Uint8Array;
  /**
   * For a call with a new key: the digest of its input, and how old an equal call must be that it
   * takes over. Null if it takes none over.
   */
  takeover: { inputDigest: string; wait: number } | null;
}

/** Whose calls to which connection are meant, as SQL or as values. */
interface Caller {
  account: number | SQL<number>;
  connection: Id<'conn'>;
  /** The number of the agent. */
  agent: number | SQL<number>;
}

/** Maximum number of equal calls that a call with a new key looks at, the newest. */
const MAX_EQUAL_CALLS = 200;

/** Selects the permission to which a call of this name leads, with the digest of its input. */
export function selectCall(reader: Reader, caller: Caller, { name }: CallLookup) {
  return reader
    .select({
      ...permissionColumns,
      calledInputDigest: aliased(connectionCalls.inputDigest, 'called_input_digest'),
    })
    .from(connectionCalls)
    .innerJoin(
      permissions,
      and(
        eq(permissions.account, connectionCalls.account),
        eq(permissions.id, connectionCalls.permission),
      ),
    )
    .innerJoin(agents, isAgentOfPermission)
    .where(isCall(caller, name));
}

/**
 * Selects the oldest permission that a call with a new key takes over: made for an equal call that
 * is older than the wait, and still pending, or approved and not used. Most SDKs draw a fresh key
 * for each call, so this is how a program that calls again finds the approval.
 */
export function selectTakeover(
  reader: Reader,
  caller: Caller,
  takeover: NonNullable<CallLookup['takeover']>,
  now: number,
) {
  return reader
    .select(permissionColumns)
    .from(permissions)
    .innerJoin(agents, isAgentOfPermission)
    .where(
      sql`${permissions.account} = ${caller.account} and ${permissions.id} = (${takeoverSql(caller, takeover, now)})`,
    );
}

/**
 * The guard of a new permission of a call: the call leads to none, or still to its previous one,
 * and takes none over.
 */
export function newCallGuard(
  caller: Caller,
  { name, takeover }: CallLookup,
  { previousPermission, now }: { previousPermission: Id<'perm'> | null; now: number },
): Guard {
  const known = sql`(select permission from ${connectionCalls} where ${isCall(caller, name)})`;
  const isKnown = sql`${known} is ${previousPermission && idBytes(previousPermission)}`;
  const takesNoneOver = takeover
    ? sql`not exists (${takeoverSql(caller, takeover, now)})`
    : sql`true`;
  return {
    name: 'call_is_new',
    holds: sql`${isKnown} and ${takesNoneOver}`,
    otherwise: () => new CallKnown(),
  };
}

/** The call leads to a permission that was not read, or it takes one over. Nothing was written. */
export class CallKnown extends Error {}

function isCall({ account, connection, agent }: Caller, name: Uint8Array): SQL {
  return sql`(
    ${connectionCalls.account} = ${account} and ${connectionCalls.connection} = ${idBytes(connection)}
    and ${connectionCalls.agent} = ${agent} and ${connectionCalls.name} = ${name}
  )`;
}

function takeoverSql(
  { account, connection, agent }: Caller,
  { inputDigest, wait }: NonNullable<CallLookup['takeover']>,
  now: number,
): SQL {
  const oldest = smallestIdAt('perm', now - CALL_LIFETIME);
  return sql`
    select asked.id
    from (
      select equal.permission as id
      from connection_calls as equal indexed by connection_calls_by_input
      where equal.account = ${account} and equal.connection = ${idBytes(connection)}
        and equal.agent = ${agent} and equal.input_digest = ${inputDigest}
        and equal.permission > ${idBytes(oldest)}
      order by equal.permission desc limit ${MAX_EQUAL_CALLS}
    ) as alike
    cross join permissions as asked
    where asked.account = ${account} and asked.id = alike.id and asked.created_at <= ${now - wait * SECOND}
      and (
        (asked.status = 0 and asked.expires_at > ${now})
        or (asked.token_status = 0 and asked.token_uses = 0 and asked.token_expires_at > ${now})
      )
    order by asked.id limit 1`;
}
