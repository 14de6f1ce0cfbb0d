import { and, eq, inArray, type SQL, sql } from 'drizzle-orm';
import { aliased } from '../../db/columns';
import type { Database, Reader } from '../../db/database';
import { accounts, agents, members, permissionContents, permissions, slackLinks, webhooks } from '../../db/schema';
import { nameQueries } from '../../http/access';
import { findCaller } from '../../http/authentication';
import type { AccountRef, MemberRef, RequestContext } from '../../http/context';
import { accountColumns, activeAccount, hashCredential, type MemberRow, memberColumns } from '../../http/credentials';
import { parseCredential } from '../../lib/credential';
import type { Id } from '../../lib/typeid';
import type { DecisionState } from '../../permissions/decide';
import { decisionState, selectDecision } from '../../permissions/decision-in-path';
import type { Preview } from '../../permissions/preview';
import type { Interaction } from './payload';
import { openSecrets, type SlackSecrets } from './secrets';

/** The channel whose address Slack called. */
export interface CalledChannel {
  shard: string;
  database: Database;
  number: number;
  id: Id<'webhook'>;
  isActive: boolean;
  /** The encrypted secrets. */
  secret: Uint8Array;
  /** Null if they can no longer be read. */
  secrets: SlackSecrets | null;
  /**
   * The account of the channel.
   * @throws Problem `account_inactive`; `unavailable` while it moves to another shard
   */
  account: () => AccountRef;
}

/** What a person acts on in Slack: the permission, and how the linked member stands to it. */
export interface ActedOn {
  /** The member to whom the Slack user is linked; null if there is none. */
  member: MemberRef | null;
  memberLastSeenAt: number | null;
  state: DecisionState;
  agentName: string;
  preview: Preview | null;
}

/**
 * Finds the channel at whose address Slack called, and what the person acts on, in one round trip, and one more for each
 * time the account was moved to another shard. Nothing of it may be used before the signature of the request is checked.
 * @returns null if there is no channel with this address
 */
export async function findCalledChannel(
  c: RequestContext,
  secret: string,
  interaction: Interaction | null,
): Promise<{ channel: CalledChannel; on: ActedOn } | null> {
  const { config } = c.var;
  const form = parseCredential(secret, 'inbound');
  if (!form) return null;
  const hashes = await hashCredential(config.keyring, secret);
  const named = nameQueries(c, preloadActedOn(interaction, hashes));
  const unused = { account: sql<number>`null`, id: sql`null` };
  const found = await findCaller(
    c,
    form.shard,
    hashes,
    (reader) => selectChannel(reader, hashes),
    (database) => named.queries(database, unused),
  );
  if (!found) return null;
  const { shard, database, row, loaded } = found;
  const { link, contents, ...decision } = named.rows(loaded);
  const [linked] = link ?? [];
  const [content] = contents ?? [];
  const channel = {
    ...{ shard, database, number: row.number, id: row.id, isActive: row.isActive },
    secret: row.secret,
    secrets: await openSecrets(config.keyring, row),
    account: () => activeAccount(row),
  };
  const preview = content?.preview ? (JSON.parse(content.preview) as Preview) : null;
  return {
    channel,
    on: {
      member: linked ? memberOf(linked) : null,
      memberLastSeenAt: linked?.memberLastSeenAt ?? null,
      ...{ state: decisionState(decision), agentName: content?.agentName ?? '', preview },
    },
  };
}

/** The member of a link; null unless they are active. */
function memberOf({ memberId: id, memberRole: role, memberStatus }: MemberRow): MemberRef | null {
  return id !== null && role !== null && memberStatus === 'active' ? { id, role } : null;
}

function selectChannel(reader: Reader, hashes: Uint8Array[]) {
  return reader
    .select({
      ...accountColumns,
      number: webhooks.number,
      id: webhooks.id,
      kind: webhooks.kind,
      isActive: webhooks.isActive,
      secret: webhooks.secret,
    })
    .from(webhooks)
    .innerJoin(accounts, eq(accounts.number, webhooks.account))
    .where(inArray(webhooks.inboundHash, hashes));
}

/** What the channel's account has about what a person did: the linked member, the permission, and how the member stands to it. */
const preloadActedOn =
  (interaction: Interaction | null, hashes: Uint8Array[]) => async (c: RequestContext, reader: Reader) => {
    if (!interaction) return { link: null, permission: null, voter: null, passkey: null, contents: null };
    const { user, permissionId: id } = interaction;
    const isCalled = inArray(webhooks.inboundHash, hashes);
    const account = sql<number>`(select ${webhooks.account} from ${webhooks} where ${isCalled})`;
    const isLink = and(
      eq(slackLinks.account, account),
      sql`${slackLinks.webhook} = (select ${webhooks.number} from ${webhooks} where ${isCalled})`,
      eq(slackLinks.team, user.teamId),
      eq(slackLinks.slackUser, user.id),
    );
    const callerId = sql`(select ${slackLinks.member} from ${slackLinks} where ${isLink})`;
    const link = reader
      .select(memberColumns)
      .from(slackLinks)
      .innerJoin(members, and(eq(members.account, slackLinks.account), eq(members.id, slackLinks.member)))
      .where(isLink);
    return {
      link,
      ...selectDecision(reader, { account, callerId, id, assertion: undefined, now: c.var.runtime.now() }),
      contents: selectContents(reader, account, id),
    };
  };

function selectContents(reader: Reader, account: SQL<number>, id: Id<'perm'>) {
  return reader
    .select({ agentName: aliased(agents.name, 'agent_name'), preview: permissionContents.preview })
    .from(permissions)
    .innerJoin(agents, eq(agents.number, permissions.agent))
    .leftJoin(
      permissionContents,
      and(eq(permissionContents.account, permissions.account), eq(permissionContents.id, permissions.id)),
    )
    .where(and(eq(permissions.account, account), eq(permissions.id, id)));
}
