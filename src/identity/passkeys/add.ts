import { eq, isNull, sql } from 'drizzle-orm';
import * as z from 'zod';
import { ConstraintError } from '../../db/database';
import { PASSKEYS_BY_MEMBER } from '../../db/passkeys-by-member';
import { passkeys } from '../../db/schema';
import { Problem } from '../../errors';
import { userActivity } from '../../http/activity';
import type { MemberRef, UserContext } from '../../http/context';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { rowMac } from '../../lib/row-mac';
import { useChallenge } from '../challenge';
import { requirePerson } from '../sessions/require-person';
import { MAX_PASSKEYS, type Passkey, presentPasskey } from './passkey';
import { passkeyContent } from './passkey-mac';
import { passkeyName, RegistrationResponse, verifyRegistration } from './registration';

export const PasskeyCreation = lazy(() =>
  z.strictObject({ name: passkeyName(), response: RegistrationResponse() }),
);

/**
 * The purpose that a challenge is bound to: adding a passkey to this member. Another member cannot
 * use the challenge.
 */
export function purposeOfAdding(member: MemberRef): string {
  return `add ${member.id}`;
}

/**
 * Adds a passkey to the member who is signed in.
 * @throws Problem as {@link requirePerson}; `invalid_request` for a passkey that is not accepted;
 *   `conflict` if the member has the maximum number of passkeys, or if the account has stored this
 *   passkey before: a removed one cannot be added again
 */
export async function addPasskey(
  context: UserContext,
  { name, response }: LazyOutput<typeof PasskeyCreation>,
): Promise<Passkey> {
  const { principal, runtime, ledger, config } = context;
  const person = requirePerson(principal);
  const account = principal.account.number;
  const member = person.id;
  const { challenge, passkey } = await verifyRegistration(
    context,
    purposeOfAdding(person),
    response,
  );
  const stored = { member, ...passkey, addedAt: runtime.now() };
  const mac = await rowMac(
    config.keyring,
    passkeyContent({ ...stored, accountId: principal.account.id }),
  );
  const row = { account, name, ...stored, removedAt: null, mac };
  const isTaken = new Problem(
    'conflict',
    `You have this passkey already, or ${MAX_PASSKEYS} of them, the maximum.`,
  );
  await ledger
    .change({
      record: userActivity(context, 'passkey.added', member),
      guards: [
        {
          name: 'passkeys_below_limit',
          holds: sql`(
            select count(*) from ${PASSKEYS_BY_MEMBER}
            where ${passkeys.account} = ${account} and ${eq(passkeys.member, member)} and ${isNull(passkeys.removedAt)}
          ) < ${MAX_PASSKEYS}`,
          otherwise: () => isTaken,
        },
      ],
      changes: (write) => [
        useChallenge(write, account, challenge),
        write.insert(passkeys).values(row),
      ],
      answer: null,
    })
    .catch((error: unknown) => {
      throw error instanceof ConstraintError ? isTaken : error;
    });
  return presentPasskey(row);
}
