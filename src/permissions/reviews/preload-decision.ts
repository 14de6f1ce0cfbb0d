import { and, eq, getTableColumns, isNotNull, isNull, type SQL, sql } from 'drizzle-orm';
import { loadNonNull, type Reader } from '../../db/database';
import { isPasskeyOf } from '../../db/passkeys-by-member';
import { isAgentOfPermission, isReviewOfPermission } from '../../db/permission-joins';
import { agents, members, passkeys, permissions, reviews, votes } from '../../db/schema';
import { actorOf } from '../../http/activity';
import type { RequestContext, UserContext } from '../../http/context';
import { readJson, readObject } from '../../http/input';
import type { CallerSql } from '../../identity/credentials';
import { fromBase64Url } from '../../lib/bytes';
import { isJsonObject } from '../../lib/json';
import { type Id, idBytes, parseId } from '../../lib/typeid';
import { findReviewedPermission } from '../find-permission';
import type { DecidingContext, Decision, DecisionState } from './decision';
import { voterColumns } from './reviewers';
import { makeSignatureVerifier, type Signed } from './signature';

/** Preloads what a decision depends on: the permission in the path, the voter, and the passkey. */
export async function preloadDecision(
  c: RequestContext,
  reader: Reader,
  { account, id: callerId }: CallerSql,
) {
  const id = parseId('perm', c.req.param('id') ?? '');
  const { assertion } = (id && (await readObject(c, readJson))) ?? {};
  return selectDecision(reader, { account, callerId, id, assertion, now: c.var.runtime.now() });
}

interface DecisionKey {
  /** The number of the account. */
  account: SQL<number>;
  /** The id of the member who decides. */
  callerId: SQL;
  id: Id<'perm'> | null;
  /** The signature, which names the passkey. */
  assertion: unknown;
  now: number;
}

/** Selects what a decision depends on; nothing without an id. */
export function selectDecision(
  reader: Reader,
  { account, callerId, id, assertion, now }: DecisionKey,
) {
  if (!id) return { permission: null, voter: null, passkey: null, voterPasskeys: null };
  return {
    permission: findReviewedPermission(account, id, now),
    voter: reader
      .select(voterColumns(now))
      .from(permissions)
      .innerJoin(reviews, isReviewOfPermission)
      .innerJoin(agents, isAgentOfPermission)
      .innerJoin(
        members,
        and(eq(members.account, permissions.account), sql`${members.id} = ${callerId}`),
      )
      .where(and(eq(permissions.account, account), eq(permissions.id, id))),
    passkey: selectPasskey(reader, account, callerId, assertion),
    voterPasskeys: selectVoterPasskeys(reader, account, id),
  };
}

function selectPasskey(reader: Reader, account: SQL<number>, member: SQL, assertion: unknown) {
  if (!isJsonObject(assertion) || typeof assertion.id !== 'string') return null;
  const id = fromBase64Url(assertion.id);
  if (!id?.length) return null;
  return reader
    .select()
    .from(passkeys)
    .where(
      and(
        eq(passkeys.account, account),
        eq(passkeys.id, id),
        sql`${passkeys.member} = ${member}`,
        isNull(passkeys.removedAt),
      ),
    );
}

/** Selects the passkeys of those who voted on a permission with a signature. */
function selectVoterPasskeys(reader: Reader, account: SQL<number>, id: Id<'perm'>) {
  return reader
    .select(getTableColumns(passkeys))
    .from(votes)
    .crossJoin(passkeys)
    .where(
      and(
        isPasskeyOf(account, sql`${votes.member}`),
        eq(votes.account, account),
        eq(votes.permission, id),
        isNotNull(votes.signature),
      ),
    );
}

/**
 * Loads what an unsigned decision on a permission depends on. Decisions whose states are loaded at
 * once with the reader of a page take one round trip.
 */
export async function loadDecision(
  { principal, reader, runtime }: UserContext,
  { id }: { id: Id<'perm'> },
) {
  const queries = selectDecision(reader, {
    account: sql<number>`${principal.account.number}`,
    callerId: sql`${idBytes(actorOf(principal))}`,
    id,
    assertion: undefined,
    now: runtime.now(),
  });
  const [permission, voter] = await loadNonNull(reader, [queries.permission, queries.voter]);
  return { permission, voter };
}

/** The rows that {@link preloadDecision} found. */
type LoadedDecision = {
  [N in 'permission' | 'voter' | 'passkey']?: NonNullable<DecisionState[N]>[] | undefined;
} & { voterPasskeys?: DecisionState['voterPasskeys'] | undefined };

/**
 * Returns the state on which a decision depends, from the rows that {@link preloadDecision} found.
 */
export function decisionState({
  permission,
  voter,
  passkey,
  voterPasskeys = [],
}: LoadedDecision): DecisionState {
  return { permission: permission?.[0], voter: voter?.[0], passkey: passkey?.[0], voterPasskeys };
}

/**
 * Makes the context in which a decision is taken.
 * @param reload runs {@link preloadDecision} again
 * @throws Problem `invalid_request` if only one of `assertion` and `signed_at` is given
 */
export function decidingContext(
  context: UserContext,
  reload: () => Promise<LoadedDecision>,
  decision: Decision,
  signed: Signed,
): DecidingContext {
  return {
    ...context,
    verifySignature: makeSignatureVerifier(context, decision, signed),
    reload: async () => decisionState(await reload()),
  };
}
