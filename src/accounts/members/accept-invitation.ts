import { and, eq, gt, inArray, sql } from 'drizzle-orm';
import * as z from 'zod';
import { aliased } from '../../db/columns';
import { ConstraintError, type Reader } from '../../db/database';
import { accounts, members, passkeys } from '../../db/schema';
import { notFound } from '../../errors';
import { makeActivityRecord, targetExists } from '../../http/activity';
import type { RequestContext } from '../../http/context';
import { limitNetwork } from '../../http/rate-limit';
import { useChallenge } from '../../identity/challenge';
import { accountColumns, activeAccount, hashCredential } from '../../identity/credentials';
import { findCaller } from '../../identity/find-caller';
import { passkeyContent } from '../../identity/passkeys/passkey-mac';
import {
  passkeyName,
  RegistrationResponse,
  verifyRegistration,
} from '../../identity/passkeys/registration';
import { makeSession, type Proof } from '../../identity/sessions/begin';
import { SERVICE_AUTHORITY } from '../../ledger/authority';
import { Ledger } from '../../ledger/ledger';
import { toHex } from '../../lib/bytes';
import { parseCredential } from '../../lib/credential';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { rowMac } from '../../lib/row-mac';
import { memberFields } from './member';

export const InvitationAcceptance = lazy(() =>
  z.strictObject({
    name: passkeyName().default('Passkey'),
    /** How the member is called; without it, as the invitation says. */
    member_name: memberFields().name.optional(),
    response: RegistrationResponse(),
  }),
);

export type FoundInvitation = NonNullable<Awaited<ReturnType<typeof findInvitation>>>;

/**
 * Finds the invited member whose invitation has a secret; null if it was used, replaced or
 * withdrawn, or has expired.
 */
export async function findInvitation(c: RequestContext, secret: string) {
  const form = parseCredential(secret, 'invitation');
  if (!form) return null;
  const hashes = await hashCredential(c.var.config.keyring, secret);
  const found = await findCaller(c, form.shard, hashes, (reader) =>
    selectInvitation(reader, hashes),
  );
  return found && (found.row.expiresAt ?? 0) > c.var.runtime.now() ? found : null;
}

function selectInvitation(reader: Reader, hashes: Uint8Array[]) {
  return reader
    .select({
      ...accountColumns,
      id: aliased(members.id, 'member_id'),
      email: aliased(members.email, 'member_email'),
      name: aliased(members.name, 'member_name'),
      role: members.role,
      hash: members.invitationHash,
      expiresAt: members.invitationExpiresAt,
      accountName: aliased(accounts.name, 'account_name'),
      accountEmail: aliased(accounts.email, 'account_email'),
    })
    .from(members)
    .innerJoin(accounts, eq(accounts.number, members.account))
    .where(and(inArray(members.invitationHash, hashes), eq(members.status, 'invited')));
}

/** @throws Problem `not_found`; `account_inactive` */
export async function requireInvitation(
  c: RequestContext,
  secret: string,
): Promise<FoundInvitation> {
  const found = await findInvitation(c, secret);
  if (!found) {
    await limitNetwork(c);
    throw notFound('invitation');
  }
  activeAccount(found.row);
  return found;
}

/**
 * The purpose that a challenge is bound to: accepting this invitation. Another invitation cannot
 * use the challenge.
 */
export function purposeOfJoining({ row: { hash } }: FoundInvitation): string {
  return `join ${toHex(hash ?? new Uint8Array())}`;
}

/** A way to sign in that an invited member has proven to have. */
interface ProvenSignIn extends Proof {
  /** The member's key in `identities`; null without an identity. */
  identity: Uint8Array | null;
  /** Whether the identity provider has verified the e-mail address of the member. */
  provesEmail: boolean;
  /** How the member wants to be called; undefined for as the invitation says. */
  name?: string | undefined;
  /** The passkey to store. */
  passkey?: Pick<
    typeof passkeys.$inferSelect,
    'id' | 'name' | 'publicKey' | 'counter' | 'firstCounter'
  >;
}

/**
 * Accepts an invitation: the member becomes active and is signed in. Happens once, however often
 * and concurrently the request is sent.
 * @returns the secret of the session's cookie
 * @throws Problem `not_found` for an invitation that is used or over; nothing was written
 */
export async function acceptInvitation(
  c: RequestContext,
  { database, shard, row }: FoundInvitation,
  { challenge, authenticatedAt, identity, provesEmail, name, passkey }: ProvenSignIn,
): Promise<string> {
  const { runtime, config } = c.var;
  const now = runtime.now();
  const account = row.accountNumber;
  const stored = passkey && { ...passkey, member: row.id, addedAt: now };
  const mac =
    stored &&
    (await rowMac(config.keyring, passkeyContent({ ...stored, accountId: row.accountId })));
  const session = await makeSession(c, shard, { account, member: row.id, authenticatedAt });
  const isInvited = and(
    eq(members.account, account),
    eq(members.id, row.id),
    eq(members.status, 'invited'),
    row.hash ? eq(members.invitationHash, row.hash) : sql`false`,
    gt(members.invitationExpiresAt, now),
  );
  const record = (
    action: 'member.joined' | 'passkey.added' | 'session.created',
    target: string,
    changes: string[] = [],
  ) => makeActivityRecord(c.var, { account, actor: row.id, action, target, changes });
  const isRenamed = name !== undefined && name !== row.name;
  const joined = {
    name,
    status: 'active' as const,
    identity,
    emailProvenAt: provesEmail ? now : null,
    invitationHash: null,
    invitationExpiresAt: null,
    activeSince: now,
    updatedAt: now,
  };
  await new Ledger(database, SERVICE_AUTHORITY)
    .change({
      record: record('member.joined', row.id, isRenamed ? ['name'] : []),
      furtherRecords: [
        ...(passkey ? [record('passkey.added', row.id)] : []),
        record('session.created', session.id),
      ],
      guards: [targetExists('invitation', members, isInvited)],
      changes: (write) => [
        useChallenge(write, account, challenge),
        write.update(members).set(joined).where(isInvited),
        ...(stored ? [write.insert(passkeys).values({ ...stored, account, mac })] : []),
        session.store(write),
      ],
      answer: null,
    })
    .catch((error: unknown) => {
      throw error instanceof ConstraintError ? notFound('invitation') : error;
    });
  return session.secret;
}

/**
 * Accepts an invitation with a new passkey.
 * @throws Problem as {@link acceptInvitation}; `invalid_request` for a passkey that is not accepted
 */
export async function joinWithPasskey(
  c: RequestContext,
  secret: string,
  { name, member_name: memberName, response }: LazyOutput<typeof InvitationAcceptance>,
) {
  const invitation = await requireInvitation(c, secret);
  const { challenge, passkey } = await verifyRegistration(
    c.var,
    purposeOfJoining(invitation),
    response,
  );
  return acceptInvitation(c, invitation, {
    challenge,
    authenticatedAt: null,
    identity: null,
    provesEmail: false,
    name: memberName,
    passkey: { name, ...passkey },
  });
}
