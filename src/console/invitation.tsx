import { and, eq, gt, inArray, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { aliased } from '../db/columns';
import { ConstraintError, type Reader } from '../db/database';
import { accounts, members, passkeys } from '../db/schema';
import { notFound } from '../errors';
import { makeActivityRecord } from '../http/activity';
import { findCaller } from '../http/authentication';
import type { AppEnv, RequestContext } from '../http/context';
import { accountColumns, activeAccount, hashCredential } from '../http/credentials';
import { body, noQuery } from '../http/input';
import { limitAddress } from '../http/rate-limit';
import { SERVICE_AUTHORITY } from '../ledger/authority';
import { Ledger } from '../ledger/ledger';
import { toHex } from '../lib/bytes';
import { parseCredential } from '../lib/credential';
import { lazy } from '../lib/lazy';
import { formatTime } from '../lib/time';
import { consoleRoute } from './access';
import { useChallenge } from './challenge';
import { sendPage, Time } from './page';
import { creationOptions, passkeyName, RegistrationResponse, verifyRegistration } from './passkey';
import { makeSession, setSessionCookie } from './session';
import { redirectToOwnHost } from './sign-in';

const Joining = lazy(() =>
  z.strictObject({ name: passkeyName().default('Passkey'), response: RegistrationResponse() }),
);

type FoundInvitation = NonNullable<Awaited<ReturnType<typeof findInvitation>>>;

/** Finds the invited member whose invitation has a secret; null if it was used, replaced or withdrawn, or has expired. */
async function findInvitation(c: RequestContext) {
  const secret = c.req.param('secret') ?? '';
  const form = parseCredential(secret, 'invitation');
  if (!form) return null;
  const hashes = await hashCredential(c.var.config.keyring, secret);
  const found = await findCaller(c, form.shard, hashes, (reader) => selectInvitation(reader, hashes));
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
async function requireInvitation(c: RequestContext): Promise<FoundInvitation> {
  const found = await findInvitation(c);
  if (!found) {
    await limitAddress(c);
    throw notFound('invitation');
  }
  activeAccount(found.row);
  return found;
}

/** What a challenge of an invitation is for: it answers no other invitation. */
function purposeOf({ row: { hash } }: FoundInvitation): string {
  return `join ${toHex(hash ?? new Uint8Array())}`;
}

/**
 * Accepts an invitation with a new passkey: the member becomes active and is signed in. Happens once, however often and
 * concurrently the request is sent.
 * @returns the secret of the session's cookie
 * @throws Problem `not_found` for an invitation that is used or over; `invalid_request` for a passkey that is not accepted
 */
export async function acceptInvitation(
  c: RequestContext,
  { name, response }: z.output<ReturnType<typeof Joining>>,
): Promise<string> {
  const { runtime, origin, config } = c.var;
  const invitation = await requireInvitation(c);
  const { database, shard, row } = invitation;
  const { challenge, passkey } = await verifyRegistration({ config, runtime }, purposeOf(invitation), response);
  const now = runtime.now();
  const account = row.accountNumber;
  const session = await makeSession(c, shard, { account, member: row.id });
  const isInvited = and(
    eq(members.account, account),
    eq(members.id, row.id),
    eq(members.status, 'invited'),
    row.hash ? eq(members.invitationHash, row.hash) : sql`false`,
    gt(members.invitationExpiresAt, now),
  );
  // NULL, which the column refuses, if the invitation was used, replaced or withdrawn meanwhile.
  const number = sql<number>`(select ${members.account} from ${members} where ${isInvited})`;
  const record = (action: 'member.joined' | 'passkey.added' | 'session.created', target: string) =>
    makeActivityRecord(
      { runtime, origin },
      {
        account: action === 'member.joined' ? number : sql<number>`${account}`,
        actor: row.id,
        action,
        target,
        changes: [],
      },
    );
  const joined = {
    status: 'active' as const,
    invitationHash: null,
    invitationExpiresAt: null,
    activeSince: now,
    updatedAt: now,
  };
  await new Ledger(database, SERVICE_AUTHORITY)
    .change({
      record: record('member.joined', row.id),
      furtherRecords: [record('passkey.added', row.id), record('session.created', session.id)],
      changes: (write) => [
        useChallenge(write, account, challenge),
        write.update(members).set(joined).where(isInvited),
        write.insert(passkeys).values({ account, member: row.id, name, ...passkey, addedAt: now }),
        session.store(write),
      ],
      answer: null,
    })
    .catch((error: unknown) => {
      throw error instanceof ConstraintError ? notFound('invitation') : error;
    });
  return session.secret;
}

const PATH = '/console/invitations/:secret';

export const invitationRoutes = new Hono<AppEnv>()
  .get(PATH, consoleRoute, async (c) => {
    const elsewhere = redirectToOwnHost(c);
    if (elsewhere) return elsewhere;
    const found = await findInvitation(c);
    if (!found) {
      await limitAddress(c);
      const children = (
        <p>
          It was used already, has been replaced, or has expired. Ask an owner or admin of the account for a new one.
        </p>
      );
      return sendPage({ title: 'This invitation is over', children }, 404);
    }
    const { row } = found;
    activeAccount(row);
    const action = c.req.path;
    const children = (
      <>
        <dl>
          <dt>Account</dt>
          <dd>{row.accountName ?? row.accountEmail}</dd>
          <dt>Invited</dt>
          <dd>{row.name ? `${row.name}, ${row.email}` : row.email}</dd>
          <dt>Role</dt>
          <dd>{row.role}</dd>
          <dt>Valid until</dt>
          <dd>
            <Time at={formatTime(row.expiresAt ?? 0)} />
          </dd>
        </dl>
        <p>To join, make a passkey on this device. From then on it is how you sign in.</p>
        <label>
          Name of the passkey
          <input name="name" value="Passkey" maxlength={100} required />
        </label>
        <button type="button" data-passkey="make" data-action={action}>
          Make a passkey and join
        </button>
      </>
    );
    return sendPage({ title: 'Join the account', children });
  })
  .post(`${PATH}/options`, consoleRoute, noQuery(), async (c) => {
    const invitation = await requireInvitation(c);
    const { row, shard } = invitation;
    const user = { shard, account: row.accountId, member: row.id, existing: [] };
    const names = { name: row.email ?? row.id, displayName: row.name ?? row.email ?? row.id };
    return c.json(await creationOptions(c.var, purposeOf(invitation), { ...user, ...names }));
  })
  .post(PATH, consoleRoute, noQuery(), body(Joining), async (c) => {
    setSessionCookie(c, await acceptInvitation(c, c.req.valid('json')));
    return c.json({ location: '/console' }, 201);
  });
