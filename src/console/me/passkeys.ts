import { and, eq, isNotNull, isNull, or, sql } from 'drizzle-orm';
import * as z from 'zod';
import { getOwnAccount } from '../../accounts/get-own';
import { MAX_PASSKEYS, type Passkey, presentPasskey, selectPasskeys } from '../../accounts/passkeys/passkey';
import { ConstraintError } from '../../db/database';
import { members, passkeys } from '../../db/schema';
import { notFound, Problem } from '../../errors';
import { userActivity } from '../../http/activity';
import type { MemberRef } from '../../http/context';
import { lazy } from '../../lib/lazy';
import { MINUTE } from '../../lib/time';
import { batchReads } from '../frame/batched-reader';
import { requirePerson, type SignedIn } from '../session/access';
import { useChallenge } from '../session/challenge';
import { creationOptions, passkeyName, RegistrationResponse, verifyRegistration } from '../sign-in/passkey';

/** For how many milliseconds after the sign-in a member may change the own passkeys. */
const FRESH = 10 * MINUTE;

export const PasskeyCreation = lazy(() => z.strictObject({ name: passkeyName(), response: RegistrationResponse() }));

/**
 * The member who may change the own passkeys now.
 * @throws Problem `person_required` for a session of a user token; `unauthorized` if the sign-in was too long ago
 */
function requireFresh(signedIn: SignedIn): MemberRef {
  const { session, context } = signedIn;
  const member = requirePerson(signedIn);
  if (session.createdAt + FRESH > context.runtime.now()) return member;
  throw new Problem('unauthorized', 'Sign in again: passkeys can be changed within 10 minutes of a sign-in.', {
    headers: { 'WWW-Authenticate': 'Cookie' },
  });
}

/** What a challenge for a further passkey is for: it answers no other member. */
function purposeOf(member: MemberRef): string {
  return `add ${member.id}`;
}

/**
 * The options with which a browser makes a further passkey for the member who is signed in.
 * @throws Problem as {@link requireFresh}
 */
export async function furtherPasskeyOptions(signedIn: SignedIn) {
  const member = requireFresh(signedIn);
  const { context } = signedIn;
  const { principal } = context;
  const reader = batchReads(context.reader);
  const [me, [rows]] = await Promise.all([
    getOwnAccount({ ...context, reader }),
    reader.load([selectPasskeys(reader, principal.account.number, member.id)]),
  ]);
  const name = me.member?.email ?? member.id;
  return creationOptions(context, purposeOf(member), {
    ...{ shard: principal.shard, account: principal.account.id, member: member.id },
    ...{ name, displayName: me.member?.name ?? name, existing: rows.map(({ id }) => id) },
  });
}

/**
 * Adds a passkey to the member who is signed in.
 * @throws Problem as {@link requireFresh}; `invalid_request` for a passkey that is not accepted; `conflict` if the member
 *   has the passkey already, or the maximum number of them
 */
export async function addPasskey(
  signedIn: SignedIn,
  { name, response }: z.output<ReturnType<typeof PasskeyCreation>>,
): Promise<Passkey> {
  const person = requireFresh(signedIn);
  const { context } = signedIn;
  const { principal, runtime, ledger } = context;
  const account = principal.account.number;
  const member = person.id;
  const { challenge, passkey } = await verifyRegistration(context, purposeOf(person), response);
  const row = { account, member, name, ...passkey, addedAt: runtime.now(), removedAt: null };
  const room = sql<number>`(
    select ${account} where (
      select count(*) from ${passkeys}
      where ${passkeys.account} = ${account} and ${eq(passkeys.member, member)} and ${isNull(passkeys.removedAt)}
    ) < ${MAX_PASSKEYS}
  )`;
  await ledger
    .change({
      record: userActivity(context, 'passkey.added', member, { account: room }),
      changes: (write) => [useChallenge(write, account, challenge), write.insert(passkeys).values(row)],
      answer: null,
    })
    .catch((error: unknown) => {
      if (!(error instanceof ConstraintError)) throw error;
      throw new Problem('conflict', `You have this passkey already, or ${MAX_PASSKEYS} of them, the maximum.`);
    });
  return presentPasskey(row);
}

/**
 * Removes a passkey of the member who is signed in.
 * @throws Problem as {@link requireFresh}; `not_found`; `conflict` for the last way to sign in
 */
export async function removePasskey(signedIn: SignedIn, id: Uint8Array): Promise<void> {
  const { id: member } = requireFresh(signedIn);
  const { context } = signedIn;
  const { principal, runtime, ledger, reader } = context;
  const account = principal.account.number;
  const found = and(
    eq(passkeys.account, account),
    eq(passkeys.id, id),
    eq(passkeys.member, member),
    isNull(passkeys.removedAt),
  );
  const hasOther = sql`exists (
    select 1 from ${passkeys} as other
    where other.account = ${account} and other.member = ${sql.param(member, passkeys.member)} and other.removed_at is null
      and other.id <> ${id}
  )`;
  const hasIdentity = sql`exists (
    select 1 from ${members} where ${eq(members.account, account)} and ${eq(members.id, member)} and ${isNotNull(members.identity)}
  )`;
  const canSignInOtherwise = context.config.oidc?.client ? or(hasOther, hasIdentity) : hasOther;
  const number = sql<number>`(
    select ${passkeys.account} from ${passkeys} where ${and(found, canSignInOtherwise)}
  )`;
  await ledger
    .change({
      record: userActivity(context, 'passkey.removed', member, { account: number }),
      changes: (write) => [write.update(passkeys).set({ removedAt: runtime.now() }).where(found)],
      answer: null,
    })
    .catch(async (error: unknown) => {
      if (!(error instanceof ConstraintError)) throw error;
      const [rows] = await reader.load([reader.select({ id: passkeys.id }).from(passkeys).where(found)]);
      if (rows.length === 0) throw notFound('passkey');
      throw new Problem('conflict', 'This is your last way to sign in. Add another passkey first.');
    });
}
