import { and, type Column, eq, sql } from 'drizzle-orm';
import { leastFullShard } from '../../db/least-full-shard';
import { accounts, identities, members, movedAccounts } from '../../db/schema';
import { listShards, openShard } from '../../db/shards';
import { unavailable } from '../../errors';
import { newId, type RequestContext } from '../../http/context';
import { text } from '../../http/fields';
import { SERVICE_AUTHORITY, serviceAuthority } from '../../ledger/authority';
import { hasRow } from '../../ledger/guard';
import { Ledger } from '../../ledger/ledger';
import {
  isSameEmailAddress,
  MAX_EMAIL_LENGTH,
  normalizeEmailAddress,
} from '../../lib/email-address';
import {
  type DirectoryEntry,
  isEntry,
  JOINING_TIME,
  openShardOf,
  wasMadeByJoining,
  wasRemovedSince,
} from './directory';
import {
  findMember,
  type Identity,
  type IdentityMember,
  isNotRemoved,
  noQueries,
} from './identity';
import type { Claims } from './jwt';

/**
 * Makes an account with a person as its owner, for somebody who is a member of no account.
 * @throws Problem `unavailable`, also while the person joins another account
 */
export async function createOwner(
  c: RequestContext,
  identity: Omit<Identity, 'member'>,
  claims: Claims,
  queries = noQueries,
): Promise<IdentityMember> {
  const entry = await createAccount(c, identity, claims);
  const owner = await findMember(c, identity.key, entry, queries);
  if (!owner) throw unavailable();
  return owner;
}

/**
 * Creates the account of a person, on the least full shard, with the person as its owner. The
 * directory is written first and decides the identifier and the shard, so that concurrent requests
 * create the same account.
 *
 * Does the missing part where an account exists without a member for the person: it was created
 * before accounts had members, or a crash came between. A person who was removed from the account
 * that the directory names gets a new one, and so does a person who began to join it and did not
 * finish within {@link JOINING_TIME}.
 * @throws Problem `unavailable` while the person joins the account that the directory names
 */
async function createAccount(
  c: RequestContext,
  { key, directory, entry }: Omit<Identity, 'member'>,
  claims: Claims,
): Promise<DirectoryEntry> {
  const { runtime } = c.var;
  const now = runtime.now();
  const chosen = { account: newId(runtime, 'user'), shard: await chooseShard(c), createdAt: now };
  const wasMember = entry !== undefined && (await wasRemovedSince(c, entry, key));
  const isJoined = entry !== undefined && wasMadeByJoining(entry);
  if (isJoined && !wasMember && now < entry.createdAt + JOINING_TIME) throw unavailable();
  // The member may be on the shard to which the account has moved since the entry was read.
  if (isJoined && (await hasMoved(c, entry))) throw unavailable();
  const isLeft =
    entry && (wasMember || isJoined)
      ? and(isEntry(key, entry), eq(identities.shard, entry.shard))
      : sql`false`;
  const replace = (column: Column) =>
    sql`iif(${isLeft}, excluded.${sql.identifier(column.name)}, ${column})`;
  const [[home = chosen]] = await new Ledger(directory, SERVICE_AUTHORITY).write({
    changes: (write) => [
      write
        .insert(identities)
        .values({ key, ...chosen })
        // Usually changes nothing, but makes RETURNING give the existing row.
        .onConflictDoUpdate({
          target: identities.key,
          set: {
            account: replace(identities.account),
            shard: replace(identities.shard),
            createdAt: replace(identities.createdAt),
          },
        })
        .returning({
          account: identities.account,
          shard: identities.shard,
          createdAt: identities.createdAt,
        }),
    ],
  });
  // A concurrent request made the person join an account, which is not the person's own.
  if (wasMadeByJoining(home)) return home;
  const database = openShardOf(c, home);
  const row = {
    id: home.account,
    email: readEmail(claims),
    name: text(1, 255).safeParse(claims.name).data ?? null,
    plan: 'free' as const,
    isActive: true,
    createdAt: now,
    updatedAt: now,
  };
  const owner = {
    id: newId(runtime, 'member'),
    email: row.email || null,
    name: row.name,
    role: 'owner' as const,
    status: 'active' as const,
    identity: key,
    activeSince: now,
    createdAt: now,
    updatedAt: now,
  };
  const account = sql<number>`(select ${accounts.number} from ${accounts} where ${eq(accounts.id, home.account)})`;
  // Somebody may have invited another member with this e-mail address.
  const isTaken = sql`exists (
    select 1 from ${members}
    where ${members.account} = ${account} and ${members.email} = ${owner.email} collate nocase and ${isNotRemoved}
  )`;
  const email = sql`iif(${isTaken}, null, ${owner.email})`;
  const emailProvenAt = sql`iif(${isTaken}, null, ${provesEmail(claims, owner.email) ? now : null})`;
  await new Ledger(database, serviceAuthority([account])).write({
    guards: [
      {
        name: 'account_was_not_moved',
        holds: sql`not ${hasRow(movedAccounts, eq(movedAccounts.id, home.account))}`,
        otherwise: () => unavailable(),
      },
    ],
    changes: (write) => [
      write.insert(accounts).values(row).onConflictDoNothing(),
      // A concurrent request may have inserted the owner.
      write
        .insert(members)
        .values({ ...owner, account, email, emailProvenAt })
        .onConflictDoNothing(),
    ],
  });
  return home;
}

/** Whether the account of an entry has left the shard that the entry names. */
async function hasMoved(c: RequestContext, entry: DirectoryEntry): Promise<boolean> {
  const database = openShardOf(c, entry);
  const [found] = await database.load([
    database
      .select({ id: movedAccounts.id })
      .from(movedAccounts)
      .where(eq(movedAccounts.id, entry.account)),
  ]);
  return found.length > 0;
}

async function chooseShard(c: RequestContext): Promise<string> {
  const shards = listShards(c.env).map((name) => ({
    name,
    size: async () => openShard(c.env, name, c.var.cost)?.size() ?? Number.POSITIVE_INFINITY,
  }));
  return (await leastFullShard(shards)).name;
}

/**
 * Whether the provider has verified that a person has an e-mail address. Nothing but `true` says
 * so, whatever the operator lets pass for invitations.
 */
export function provesEmail(claims: Claims, email: string | null): boolean {
  return (
    claims.email_verified === true && email !== null && isSameEmailAddress(readEmail(claims), email)
  );
}

/**
 * The `email` claim if it looks like an e-mail address, with A-labels where it is one; else an
 * empty text.
 */
export function readEmail({ email }: Claims): string {
  if (
    typeof email !== 'string' ||
    email.length > MAX_EMAIL_LENGTH ||
    !/^[^\s@]+@[^\s@]+$/.test(email)
  )
    return '';
  return normalizeEmailAddress(email) ?? email;
}
