import { and, eq, isNull, sql } from 'drizzle-orm';
import { aliased } from '../../db/columns';
import type { Database } from '../../db/database';
import { accounts, members, movedAccounts, passkeys } from '../../db/schema';
import { listShards, openShard } from '../../db/shards';
import { makeActivityRecord } from '../../http/activity';
import type { RequestContext } from '../../http/context';
import { fromBase64Url } from '../../lib/bytes';
import { rowMac } from '../../lib/row-mac';
import {
  accountColumns,
  activeAccount,
  activeMember,
  failAuthentication,
  memberColumns,
} from '../credentials';
import { beginSession, commitSignIn, SignInRefused } from '../sessions/begin';
import { passkeyContent } from './passkey-mac';
import { decodeUserHandle, findChallenge, type UserHandle } from './registration';
import { type AuthenticationResponse, verifyAuthentication } from './webauthn';

/** The purpose of the challenges that sign somebody in. */
export const SIGN_IN_PURPOSE = 'sign in';

/**
 * Signs a member in with a passkey: stores a session and returns the secret of its cookie.
 * @throws Problem `unauthorized` for a response that does not come from a passkey of an active
 *   member, or whose counter went back and may not, or that was sent before; `account_inactive`,
 *   also for a suspended member
 */
export async function signInWithPasskey(
  c: RequestContext,
  { response }: { response: AuthenticationResponse },
): Promise<string> {
  const { config, runtime } = c.var;
  const refuse = () =>
    failAuthentication(c, 'This passkey cannot sign in here. It may belong to a removed member.');
  // The challenge and the user handle are checked without the database, so that made-up responses
  // cost little.
  const challenge = await findChallenge(
    config,
    runtime,
    SIGN_IN_PURPOSE,
    response.response.clientDataJSON,
  );
  const handle = decodeUserHandle(fromBase64Url(response.response.userHandle ?? ''));
  const id = fromBase64Url(response.id);
  if (!challenge || !handle || !id) return refuse();
  const found = await findPasskey(c, handle, id);
  if (!found) return refuse();
  const { database, shard, row } = found;
  const passkey = { ...row, member: handle.member };
  const use = await verifyAuthentication(config, challenge.bytes, response, passkey);
  if (!use) return refuse();
  const account = activeAccount(row);
  const member = activeMember(row);
  if (!member) return refuse();
  const isPasskey = and(eq(passkeys.account, account.number), eq(passkeys.id, id));
  const isAllowed = sql`exists (
    select 1 from ${members} join ${passkeys} on ${isPasskey}
    where ${members.account} = ${account.number} and ${eq(members.id, member.id)} and ${eq(members.status, 'active')}
      and ${isNull(passkeys.removedAt)}
  )`;
  const refuseSignIn = (error: unknown) => {
    if (error instanceof SignInRefused) return refuse();
    throw error;
  };
  const actions = use.wentBack ? (['passkey.counter_went_back'] as const) : [];
  if (use.isRefused) {
    const record = { account: account.number, actor: member.id, target: member.id, changes: [] };
    await commitSignIn(c, { database, shard }, challenge, {
      record: makeActivityRecord(c.var, { ...record, action: 'passkey.counter_went_back' }),
      isAllowed,
      changes: () => [],
    }).catch(refuseSignIn);
    return failAuthentication(c, COPIED_PASSKEY);
  }
  // Renews the MAC, so that a passkey in use outlives the root secret with which it was stored.
  const mac = await rowMac(config.keyring, passkeyContent(passkey));
  return beginSession(c, {
    database,
    shard,
    account: account.number,
    member: member.id,
    isAllowed,
    proof: { challenge, authenticatedAt: null },
    actions,
    changes: (write) => [
      write.update(passkeys).set({ counter: use.counter, mac }).where(isPasskey),
    ],
  }).catch(refuseSignIn);
}

const COPIED_PASSKEY =
  'The signature counter of this passkey went back, as it does after a passkey was copied, so it cannot sign in. Use ' +
  'another passkey, or ask an owner or admin to remove you and to invite you again.';

/**
 * Finds a passkey of a member on the shard that its user handle names, or on the shard to which the
 * account was moved; null if there is none, or it was removed.
 */
async function findPasskey(
  c: RequestContext,
  { shard: home, account, member }: UserHandle,
  id: Uint8Array,
) {
  let shard = home;
  for (const _ of listShards(c.env)) {
    const database = openShard(c.env, shard, c.var.cost);
    if (!database) return null;
    const [[row], [moved]] = await database.load([
      selectPasskey(database, { account, member, id }),
      database
        .select({ shard: movedAccounts.shard })
        .from(movedAccounts)
        .where(eq(movedAccounts.id, account)),
    ]);
    if (row) return { database, shard, row };
    if (!moved) return null;
    shard = moved.shard;
  }
  return null;
}

function selectPasskey(
  database: Database,
  { account, member, id }: Pick<UserHandle, 'account' | 'member'> & { id: Uint8Array },
) {
  return database
    .select({
      ...accountColumns,
      ...memberColumns,
      id: aliased(passkeys.id, 'passkey_id'),
      publicKey: passkeys.publicKey,
      counter: passkeys.counter,
      firstCounter: passkeys.firstCounter,
      addedAt: passkeys.addedAt,
      mac: passkeys.mac,
    })
    .from(accounts)
    .innerJoin(members, and(eq(members.account, accounts.number), eq(members.id, member)))
    .innerJoin(
      passkeys,
      and(
        eq(passkeys.account, accounts.number),
        eq(passkeys.id, id),
        eq(passkeys.member, member),
        isNull(passkeys.removedAt),
      ),
    )
    .where(eq(accounts.id, account));
}
