import { and, eq, isNotNull, isNull, or, sql } from 'drizzle-orm';
import { ConstraintError } from '../../db/database';
import { members, passkeys } from '../../db/schema';
import { notFound, Problem } from '../../errors';
import { userActivity } from '../../http/activity';
import type { SignedIn } from '../session/access';
import { requireFresh } from './fresh-sign-in';

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
