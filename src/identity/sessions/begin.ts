import type { SQL } from 'drizzle-orm';
import type { ActivityAction } from '../../db/activity-actions';
import { ConstraintError, type Database } from '../../db/database';
import { sessions } from '../../db/schema';
import { openShard } from '../../db/shards';
import type { Statement } from '../../db/statements';
import { makeActivityRecord } from '../../http/activity';
import { newId, type RequestContext } from '../../http/context';
import { SERVICE_AUTHORITY } from '../../ledger/authority';
import type { ActivityRecord } from '../../ledger/insert-records';
import { Ledger, type RecordWriter } from '../../ledger/ledger';
import { makeCredential } from '../../lib/credential';
import type { Id } from '../../lib/typeid';
import { type Challenge, useSignInChallenge } from '../challenge';
import { hashCredential } from '../credentials';

/**
 * The shard with the challenges that were answered to sign in: they are made before the account is
 * known.
 */
const CHALLENGE_SHARD = '00';

/** Whom a session belongs to: a member, or the user token with which somebody signed in. */
type SessionOwner = { member: Id<'member'>; token?: null } | { token: Id<'utok'>; member?: null };

/**
 * A new session: its secret for the cookie, and `store`, which makes the statement that stores it.
 * @param authenticatedAt when the person proved who they are; null if that was now
 */
export async function makeSession(
  { var: { config, runtime, origin } }: RequestContext,
  shard: string,
  {
    account,
    member = null,
    token = null,
    authenticatedAt = null,
  }: { account: number | SQL; authenticatedAt?: number | null } & SessionOwner,
) {
  const secret = makeCredential('session', shard, runtime.random);
  const [hash] = await hashCredential(config.keyring, secret);
  const now = runtime.now();
  const row = {
    id: newId(runtime, 'session'),
    member,
    token,
    authenticatedAt,
    ...origin,
    lastSeenAt: now,
    createdAt: now,
  };
  return {
    id: row.id,
    secret,
    store: (write: RecordWriter) => write.insert(sessions).values({ ...row, hash, account }),
  };
}

/** How a person proved who they are. */
export interface Proof {
  /** Can be used once. */
  challenge: Challenge;
  /** When the person proved it, in milliseconds since the epoch; null if that was now. */
  authenticatedAt: number | null;
}

/** Where the account of a person who signs in is. */
interface SignInPlace {
  database: Database;
  shard: string;
}

/** A sign-in that has been verified. */
interface SignIn extends SignInPlace {
  /** The number of the account. */
  account: number;
  member: Id<'member'>;
  /** Whether the member can still sign in in this way, as SQL. */
  isAllowed: SQL;
  proof: Proof;
  /** Further activity of the member that the same transaction records. */
  actions?: readonly ActivityAction[];
  /** Makes statements that change something in the same transaction. */
  changes?: (write: RecordWriter) => Statement[];
}

/**
 * Signs a member in: stores a session with its activity record.
 * @returns the secret of the session's cookie
 * @throws SignInRefused; nothing was written
 */
export async function beginSession(c: RequestContext, signIn: SignIn): Promise<string> {
  const { account, member, isAllowed, proof, actions = [], changes } = signIn;
  const { authenticatedAt } = proof;
  const session = await makeSession(c, signIn.shard, { account, member, authenticatedAt });
  const record = (action: ActivityAction, target: string) =>
    makeActivityRecord(c.var, {
      account,
      actor: member,
      action,
      target,
      changes: [],
    });
  await commitSignIn(c, signIn, proof.challenge, {
    record: record('session.created', session.id),
    furtherRecords: actions.map((action) => record(action, member)),
    isAllowed,
    changes: (write) => [...(changes?.(write) ?? []), session.store(write)],
  });
  return session.secret;
}

/**
 * Commits what an answered challenge of a sign-in changes. The challenge is stored on the first
 * shard too, whatever the account's: so it works once, and not once for each shard.
 * @throws SignInRefused; nothing was written
 */
export async function commitSignIn(
  c: RequestContext,
  { database, shard }: SignInPlace,
  challenge: Challenge,
  {
    record,
    furtherRecords = [],
    isAllowed,
    changes,
  }: {
    record: ActivityRecord;
    furtherRecords?: readonly ActivityRecord[];
    isAllowed: SQL;
    changes: (write: RecordWriter) => Statement[];
  },
): Promise<void> {
  if (shard !== CHALLENGE_SHARD) {
    const first = openShard(c.env, CHALLENGE_SHARD, c.var.cost);
    if (!first) throw new Error('the first shard is not bound');
    await new Ledger(first, SERVICE_AUTHORITY)
      .write({ changes: (write) => [useSignInChallenge(write, challenge)] })
      .catch(refuseUsedChallenge);
  }
  await new Ledger(database, SERVICE_AUTHORITY)
    .change({
      record,
      furtherRecords,
      guards: [
        { name: 'member_can_sign_in', holds: isAllowed, otherwise: () => new SignInRefused() },
      ],
      changes: (write) => [useSignInChallenge(write, challenge), ...changes(write)],
      answer: null,
    })
    .catch(refuseUsedChallenge);
}

/** The challenge of a sign-in was used before, or the member can no longer sign in. */
export class SignInRefused extends Error {}

function refuseUsedChallenge(error: unknown): never {
  const isUsed =
    error instanceof ConstraintError && error.subject === 'sign_in_challenges.challenge';
  throw isUsed ? new SignInRefused() : error;
}
