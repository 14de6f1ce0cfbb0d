import { and, eq, isNull, lt, sql } from 'drizzle-orm';
import { agents, permissions } from '../../db/schema';
import type { Context, Principal, RequestContext } from '../../http/context';
import { readJson, readObject } from '../../http/input';
import { LogFull } from '../../ledger/append';
import { CredentialEnded } from '../../ledger/authority';
import { type Guard, hasRow, prepareGuard } from '../../ledger/guard';
import { AccountHeld } from '../../ledger/hold';
import { AccountStopped } from '../../ledger/stop';
import { AnsweredBefore } from '../../ledger/stored-answer';
import { SECOND } from '../../lib/time';
import { ACCOUNT, isPermissionWithId, PERMISSION_ID } from '../find-permission';
import { draftUse } from './count-use';
import { takeUse } from './take-use';
import { readToken } from './token-input';
import { type Grant, TokenUse, type UsedToken } from './use-fields';

// A use in one round trip. The token is signed and says what its permission says, and the isolate
// remembers who calls, so nothing has to be read before the use is written. Both may be out of
// date. So guards in the transaction check both:
// - `permission_is_as_claimed`: the row says what the token says, the caller may use it, and a use
//   is left. If the token is revoked or has expired, `countUse` matches no row;
// - those of every entry: the credential and the account, a stop, a hold, the room in the log.
// The statements read from the row what neither the token nor the remembered caller says: the
// agent's number, the policy, the numbers of uses, and whether an outcome was promised.
// If a guard fails, nothing was written, and `useToken` serves the request as any other. So only
// `useToken` explains refusals.

/** The claims of a token about its permission. */
interface Claims extends Grant {
  inputDigest: string | null;
}

/** The permission is not as its token says, or the caller cannot use it. Nothing was written. */
class ClaimsOutdated extends Error {}

/** The errors of a write after which nothing was written. After any other, something may be. */
const REFUSALS = [
  AccountHeld,
  AccountStopped,
  AnsweredBefore,
  ClaimsOutdated,
  CredentialEnded,
  LogFull,
];

/** Takes one use of a token in one round trip; null if it wrote nothing, for whatever reason. */
export async function useTokenInOneTrip(
  c: RequestContext,
  context: Context,
): Promise<UsedToken | null> {
  const { principal, runtime } = context;
  const claims = await readClaims(c);
  if (!claims || claims.expiresAt <= runtime.now()) return null;
  const { id, action, resource, scope } = claims;
  const subject = { account: principal.account.number, agent: null, id, action, resource };
  try {
    return await takeUse(context, {
      grant: claims,
      entry: draftUse(context, { ...subject, policyId: null }, { scope }),
      guard: claimsGuard(principal, claims),
    });
  } catch (error) {
    if (REFUSALS.some((refusal) => error instanceof refusal)) return null;
    throw error;
  }
}

/** The claims of the token in a valid request, if the request fits them; otherwise null. */
async function readClaims(c: RequestContext): Promise<Claims | null> {
  const { data: input } = TokenUse().safeParse(await readObject(c, readJson));
  const claims = input && (await readToken(c.var.config, input.token));
  const [act] = claims?.authorization_details ?? [];
  if (!claims || !act || new URL(c.req.url).search !== '') return null;
  const { permission_id: id, action, resource, scope, input_digest } = act;
  const isSame =
    (input.action ?? action) === action &&
    (input.resource ?? resource) === resource &&
    input.input_digest === input_digest;
  if (!isSame) return null;
  const inputDigest = input_digest ?? null;
  const expiresAt = claims.exp * SECOND;
  return { id, agentId: claims.sub, action, resource, scope, inputDigest, expiresAt };
}

/** The guard of a use whose permission was not read. */
function claimsGuard(principal: Principal, claims: Claims): Guard {
  const { id, agentId, action, resource, inputDigest, expiresAt } = claims;
  const scope = JSON.stringify(claims.scope);
  const account = principal.account.number;
  const caller = principal.kind === 'agent' ? principal.agent.number : null;
  const claimed = { id, agentId, action, resource, scope, inputDigest, expiresAt };
  return asClaimed({ account, caller, ...claimed }, () => new ClaimsOutdated());
}

const asClaimed = prepareGuard('permission_is_as_claimed', () => {
  const agentId = sql.param(sql.placeholder('agentId'), agents.id);
  const isAsClaimed = and(
    eq(permissions.action, sql.placeholder('action')),
    eq(permissions.resource, sql.placeholder('resource')),
    sql`${permissions.grantedScope} = ${sql.placeholder('scope')}`,
    sql`${permissions.inputDigest} is ${sql.placeholder('inputDigest')}`,
    eq(permissions.tokenExpiresAt, sql.placeholder('expiresAt')),
    hasRow(agents, and(eq(agents.number, permissions.agent), sql`${agents.id} = ${agentId}`)),
  );
  const mayUse = and(
    isNull(permissions.connectionId),
    lt(permissions.tokenUses, permissions.tokenMaxUses),
    // Null for a user, who may use the tokens of all agents.
    sql`${permissions.agent} = coalesce(${sql.placeholder('caller')}, ${permissions.agent})`,
  );
  const isPermission = isPermissionWithId(ACCOUNT, PERMISSION_ID);
  return hasRow(permissions, and(isPermission, isAsClaimed, mayUse));
});
