import { eq, isNull, sql } from 'drizzle-orm';
import * as z from 'zod';
import { getOwnAccount } from '../../accounts/get-own';
import { MAX_PASSKEYS, type Passkey, presentPasskey, selectPasskeys } from '../../accounts/passkeys/passkey';
import { ConstraintError } from '../../db/database';
import { passkeys } from '../../db/schema';
import { Problem } from '../../errors';
import { userActivity } from '../../http/activity';
import type { MemberRef } from '../../http/context';
import { lazy } from '../../lib/lazy';
import type { SignedIn } from '../session/access';
import { useChallenge } from '../session/challenge';
import { creationOptions, passkeyName, RegistrationResponse, verifyRegistration } from '../sign-in/passkey';
import { requireFresh } from './fresh-sign-in';

export const PasskeyCreation = lazy(() => z.strictObject({ name: passkeyName(), response: RegistrationResponse() }));

/** What a challenge for a further passkey is for: it answers no other member. */
function purposeOf(member: MemberRef): string {
  return `add ${member.id}`;
}

/**
 * Returns the options with which the browser makes a further passkey for the member who is signed in.
 * @throws Problem as {@link requireFresh}
 */
export async function getPasskeyOptions(signedIn: SignedIn) {
  const member = requireFresh(signedIn);
  const { context } = signedIn;
  const { principal, reader } = context;
  const [me, [rows]] = await Promise.all([
    getOwnAccount(context),
    reader.load([selectPasskeys(reader, principal.account.number, member.id)]),
  ]);
  const name = me.member?.email ?? member.id;
  const user = {
    ...{ shard: principal.shard, account: principal.account.id, member: member.id },
    ...{ name, displayName: me.member?.name ?? name, existing: rows.map(({ id }) => id) },
  };
  return creationOptions(context, purposeOf(member), user);
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
