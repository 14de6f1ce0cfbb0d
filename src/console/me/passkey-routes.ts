import { and, eq, isNotNull, isNull, or, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { getOwnAccount } from '../../accounts/get-own';
import { ConstraintError } from '../../db/database';
import { PASSKEYS_BY_MEMBER } from '../../db/passkeys-by-member';
import { members, passkeys } from '../../db/schema';
import { notFound, Problem } from '../../errors';
import { targetExists, userActivity } from '../../http/activity';
import type { AppEnv, MemberRef } from '../../http/context';
import { body, noQuery } from '../../http/input';
import { rowMac } from '../../http/row-mac';
import { useChallenge } from '../../identity/challenge';
import {
  MAX_PASSKEYS,
  type Passkey,
  presentPasskey,
  selectPasskeys,
} from '../../identity/passkeys/passkey';
import { passkeyContent } from '../../identity/passkeys/passkey-mac';
import {
  creationOptions,
  passkeyName,
  RegistrationResponse,
  verifyRegistration,
} from '../../identity/passkeys/registration';
import { fromBase64Url, toBase64Url } from '../../lib/bytes';
import { lazy } from '../../lib/lazy';
import { consoleAccess, requirePerson, type SignedIn } from '../session/access';

const PasskeyCreation = lazy(() =>
  z.strictObject({ name: passkeyName(), response: RegistrationResponse() }),
);

/**
 * The purpose that a challenge is bound to: adding a passkey to this member. Another member cannot
 * use the challenge.
 */
function purposeOf(member: MemberRef): string {
  return `add ${member.id}`;
}

/**
 * Returns the options with which the browser makes a further passkey for the member who is signed
 * in. They exclude the passkeys that the member has: an authenticator whose passkey was removed can
 * make a new one.
 * @throws Problem as {@link requirePerson}
 */
async function getPasskeyOptions(signedIn: SignedIn) {
  const member = requirePerson(signedIn);
  const { context } = signedIn;
  const { principal, reader } = context;
  const [me, [rows]] = await Promise.all([
    getOwnAccount(context),
    reader.load([selectPasskeys(reader, principal.account.number, member.id)]),
  ]);
  const name = me.member?.email ?? member.id;
  const existing = rows.filter(({ removedAt }) => removedAt === null).map(({ id }) => id);
  const user = {
    ...{ shard: principal.shard, account: principal.account.id, member: member.id },
    ...{ name, displayName: me.member?.name ?? name, existing },
  };
  return creationOptions(context, purposeOf(member), user);
}

/**
 * Adds a passkey to the member who is signed in.
 * @throws Problem as {@link requirePerson}; `invalid_request` for a passkey that is not accepted;
 *   `conflict` if the member has the maximum number of passkeys, or if the account has stored this
 *   passkey before: a removed one cannot be added again
 */
async function addPasskey(
  signedIn: SignedIn,
  { name, response }: z.output<ReturnType<typeof PasskeyCreation>>,
): Promise<Passkey> {
  const person = requirePerson(signedIn);
  const { context } = signedIn;
  const { principal, runtime, ledger, config } = context;
  const account = principal.account.number;
  const member = person.id;
  const { challenge, passkey } = await verifyRegistration(context, purposeOf(person), response);
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
          otherwise: isTaken,
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

/**
 * Removes a passkey of the member who is signed in: nobody can use it any more, and its row stays,
 * with `removed_at`.
 * @throws Problem as {@link requirePerson}; `not_found`; `conflict` for the last way to sign in
 */
async function removePasskey(signedIn: SignedIn, id: Uint8Array): Promise<void> {
  const { id: member } = requirePerson(signedIn);
  const { context } = signedIn;
  const { principal, runtime, ledger } = context;
  const account = principal.account.number;
  const found = and(
    eq(passkeys.account, account),
    eq(passkeys.id, id),
    eq(passkeys.member, member),
    isNull(passkeys.removedAt),
  );
  const hasOtherPasskey = sql`exists (
    select 1 from ${passkeys} as other indexed by passkeys_by_member
    where other.account = ${account} and other.member = ${sql.param(member, passkeys.member)} and other.removed_at is null
      and other.id <> ${id}
  )`;
  const hasIdentity = sql`exists (
    select 1 from ${members} where ${eq(members.account, account)} and ${eq(members.id, member)} and ${isNotNull(members.identity)}
  )`;
  const canSignInOtherwise = context.config.oidc?.client
    ? or(hasOtherPasskey, hasIdentity)
    : hasOtherPasskey;
  const canSignIn = sql`exists (select 1 where ${canSignInOtherwise})`;
  await ledger.change({
    record: userActivity(context, 'passkey.removed', member),
    guards: [
      targetExists('passkey', passkeys, found),
      {
        name: 'member_can_sign_in_otherwise',
        holds: canSignIn,
        otherwise: new Problem(
          'conflict',
          'This is your last way to sign in. Add another passkey first.',
        ),
      },
    ],
    changes: (write) => [write.update(passkeys).set({ removedAt: runtime.now() }).where(found)],
    answer: null,
  });
}

const PATH = '/console/me/passkeys';

const RECENT = { needsRecentSignIn: true };

/** The addresses that the page's script uses: only a script can make a passkey. */
export const passkeyRoutes = new Hono<AppEnv>()
  .post(`${PATH}/options`, consoleAccess(null, undefined, RECENT), noQuery(), async (c) =>
    c.json(await getPasskeyOptions(c.var.signedIn)),
  )
  .post(PATH, consoleAccess(null, undefined, RECENT), noQuery(), body(PasskeyCreation), async (c) =>
    c.json(await addPasskey(c.var.signedIn, c.req.valid('json')), 201),
  )
  .delete(`${PATH}/:id`, consoleAccess(null, undefined, RECENT), noQuery(), async (c) => {
    const id = fromBase64Url(c.req.param('id'));
    if (!id || toBase64Url(id) !== c.req.param('id')) throw notFound('passkey');
    await removePasskey(c.var.signedIn, id);
    return c.body(null, 204);
  });
