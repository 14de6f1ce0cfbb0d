import { and, eq, inArray, type SQL, sql } from 'drizzle-orm';
import { aliased } from '../../../db/columns';
import { type Database, loadNonNull, type Reader } from '../../../db/database';
import {
  accounts,
  agents,
  members,
  permissionContents,
  permissions,
  receivers,
  slackLinks,
} from '../../../db/schema';
import type { AccountRef, MemberRef, RequestContext } from '../../../http/context';
import {
  accountColumns,
  activeAccount,
  type CallerMemberRow,
  hashCredential,
  memberColumns,
} from '../../../identity/credentials';
import { findCaller } from '../../../identity/find-caller';
import { parseCredential } from '../../../lib/credential';
import type { Id } from '../../../lib/typeid';
import type { Preview } from '../../../permissions/preview';
import type { DecisionState } from '../../../permissions/reviews/decision';
import { decisionState, selectDecision } from '../../../permissions/reviews/preload-decision';
import type { Interaction } from './interaction';
import { openSecrets, type SlackSecrets } from './secrets';

/**
 * The channel whose address was called. Nothing of it may be used before the signature of the
 * request is checked.
 */
export interface CalledChannel {
  shard: string;
  database: Database;
  accountNumber: number;
  /** The number of the channel. */
  number: number;
  id: Id<'webhook'>;
  isActive: boolean;
  encryptedSecrets: Uint8Array;
  /** The decrypted secrets; null if they can no longer be read. */
  secrets: SlackSecrets | null;
  /**
   * The account of the channel.
   * @throws Problem `account_inactive`; `unavailable` while it moves to another shard
   */
  account: () => AccountRef;
}

/** The permission on which a person acts in Slack, and how the linked member stands to it. */
export interface ActedOn {
  /** The member to whom the Slack user is linked; null if there is none. */
  member: MemberRef | null;
  memberLastSeenAt: number | null;
  state: DecisionState;
  agentName: string;
  /** The arguments of the act as JSON; null if the service does not have them. */
  input: string | null;
  preview: Preview | null;
}

/**
 * Finds the channel at whose address Slack called. Takes round trips as {@link findCaller} says.
 * @returns null if there is no channel with this address
 */
export async function findCalledChannel(
  c: RequestContext,
  inboundSecret: string,
): Promise<CalledChannel | null> {
  const { keyring } = c.var.config;
  const form = parseCredential(inboundSecret, 'inbound');
  if (!form) return null;
  const hashes = await hashCredential(keyring, inboundSecret);
  const found = await findCaller(c, form.shard, hashes, (reader) => selectChannel(reader, hashes));
  if (!found) return null;
  const { shard, database, row } = found;
  return {
    shard,
    database,
    accountNumber: row.accountNumber,
    number: row.number,
    id: row.id,
    isActive: row.isActive,
    encryptedSecrets: row.secret,
    secrets: await openSecrets(keyring, row),
    account: () => activeAccount(row),
  };
}

function selectChannel(reader: Reader, hashes: Uint8Array[]) {
  return reader
    .select({
      ...accountColumns,
      number: receivers.number,
      id: receivers.id,
      kind: receivers.kind,
      isActive: receivers.isActive,
      secret: receivers.secret,
    })
    .from(receivers)
    .innerJoin(accounts, eq(accounts.number, receivers.account))
    .where(inArray(receivers.inboundHash, hashes));
}

/**
 * Loads what a person acts on, in one round trip: the linked member, the permission, and how the
 * member stands to it. Each is of the channel's account.
 */
export async function loadActedOn(
  { database, accountNumber, number }: CalledChannel,
  { user, permissionId: id }: Interaction,
  now: number,
): Promise<ActedOn> {
  const account = sql<number>`${accountNumber}`;
  const isLink = and(
    eq(slackLinks.account, account),
    eq(slackLinks.receiver, number),
    eq(slackLinks.team, user.teamId),
    eq(slackLinks.slackUser, user.id),
  );
  const callerId = sql`(select ${slackLinks.member} from ${slackLinks} where ${isLink})`;
  const { permission, voter } = selectDecision(database, {
    account,
    callerId,
    id,
    assertion: undefined,
    now,
  });
  const [[linked], permissions, voters, [contents]] = await loadNonNull(database, [
    database
      .select(memberColumns)
      .from(slackLinks)
      .innerJoin(
        members,
        and(eq(members.account, slackLinks.account), eq(members.id, slackLinks.member)),
      )
      .where(isLink),
    permission,
    voter,
    selectContents(database, account, id),
  ]);
  return {
    member: linked ? memberOf(linked) : null,
    memberLastSeenAt: linked?.memberLastSeenAt ?? null,
    state: decisionState({ permission: permissions, voter: voters }),
    agentName: contents?.agentName ?? '',
    input: contents?.input ?? null,
    preview: contents ? parsePreview(contents.preview) : null,
  };
}

function parsePreview(text: string | null): Preview | null {
  return text === null ? null : JSON.parse(text);
}

/** The member of a link; null unless they are active. */
function memberOf({
  memberId: id,
  memberRole: role,
  memberStatus,
}: CallerMemberRow): MemberRef | null {
  if (id === null || role === null || memberStatus !== 'active') return null;
  return { id, role };
}

function selectContents(reader: Reader, account: SQL<number>, id: Id<'perm'>) {
  return reader
    .select({
      agentName: aliased(agents.name, 'agent_name'),
      input: permissionContents.input,
      preview: permissionContents.preview,
    })
    .from(permissions)
    .innerJoin(agents, eq(agents.number, permissions.agent))
    .leftJoin(
      permissionContents,
      and(
        eq(permissionContents.account, permissions.account),
        eq(permissionContents.id, permissions.id),
      ),
    )
    .where(and(eq(permissions.account, account), eq(permissions.id, id)));
}
