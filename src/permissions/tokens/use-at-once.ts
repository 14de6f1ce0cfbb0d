import { and, eq, isNull, lt, sql } from 'drizzle-orm';
import { agents, permissions } from '../../db/schema';
import type { Context, Principal, RequestContext } from '../../http/context';
import { readJson, readObject } from '../../http/input';
import { LogFull } from '../../ledger/append';
import { CredentialEnded } from '../../ledger/authority';
import { type Guard, hasRow } from '../../ledger/guard';
import { AccountHeld } from '../../ledger/hold';
import { AccountStopped } from '../../ledger/stop';
import { AnsweredBefore } from '../../ledger/stored-answer';
import { SECOND } from '../../lib/time';
import { isPermissionWithId } from '../permission';
import { draftUse, isUsable } from './count-use';
import { takeUse } from './take-use';
import { readToken } from './token-input';
import { type Grant, TokenUse, type UsedToken } from './use-fields';

// A use in one round trip. The token is signed and says what its permission says, and the isolate
// remembers who calls, so nothing has to be read before the use is written. Both may be out of date.
// So guards in the transaction check both:
// - `permission_is_as_claimed`: the row says what the token says, and the caller may use it now;
// - those of every entry: the credential and the account, a stop, a hold, the room in the log.
// What neither says, the statements take from the row: the agent's number, the policy, the numbers of
// uses, and whether an outcome was promised. If a guard fails, nothing was written, and the request
// is served as if this had not been tried: so each refusal has its reason from one place.

/** What a token says of its permission. */
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
export async function useTokenAtOnce(
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
      guard: claimsGuard(principal, claims, runtime.now()),
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
  if (!claims || !act || Object.keys(c.req.query()).length > 0) return null;
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
function claimsGuard(principal: Principal, claims: Claims, now: number): Guard {
  const isAgent = and(eq(agents.number, permissions.agent), eq(agents.id, claims.agentId));
  const isAsClaimed = and(
    eq(permissions.action, claims.action),
    eq(permissions.resource, claims.resource),
    sql`${permissions.grantedScope} = ${JSON.stringify(claims.scope)}`,
    sql`${permissions.inputDigest} is ${claims.inputDigest}`,
    eq(permissions.tokenExpiresAt, claims.expiresAt),
    hasRow(agents, isAgent),
  );
  return {
    name: 'permission_is_as_claimed',
    holds: hasRow(
      permissions,
      and(
        isPermissionWithId(principal.account.number, claims.id),
        isAsClaimed,
        isNull(permissions.connectionId),
        isUsable(now),
        lt(permissions.tokenUses, permissions.tokenMaxUses),
        principal.kind === 'agent' ? eq(permissions.agent, principal.agent.number) : undefined,
      ),
    ),
    otherwise: new ClaimsOutdated(),
  };
}
