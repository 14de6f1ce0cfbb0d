import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import {
  accounts,
  agentKeys,
  agents,
  MEMBER_ROLES,
  MEMBER_STATUSES,
  type MemberRole,
  members,
  sessions,
  slackLinks,
  userTokens,
  webhooks,
} from '../db/schema';
import { DAY, HOUR } from '../lib/time';
import type { Id } from '../lib/typeid';
import type { Guard } from './guard';
import type { Accounts } from './hold';

/**
 * By whose authority the ledger writes. A credential is checked once more in the transaction that
 * writes.
 */
export type Authority = ServiceAuthority | Credential;

/**
 * The authority of the service itself, the operator, or a signed download address: nothing in the
 * database revokes these. It names the accounts that its writes change, in addition to those of
 * their entries and records.
 */
interface ServiceAuthority {
  kind: 'service';
  accounts: Accounts;
}

/** An authenticated credential. It can end before its request is committed. */
export type Credential = CredentialReference & {
  /** The time of the request in milliseconds since the epoch, the same at every call. */
  now: () => number;
};

/**
 * The facts for the check: the hash, which the account must still have, or the expiry time of a
 * JWT in milliseconds since the epoch; the user token of a session that was started with one, which
 * must not have ended either; the Slack user, who must still be linked to the member by a channel
 * that is active; and the member who acts, who must still be active and have the same role.
 */
export type CredentialReference = { account: number } & (
  | { kind: 'user_token'; hash: Uint8Array; member: MemberReference | null }
  | { kind: 'agent_key'; hash: Uint8Array }
  | { kind: 'identity_token'; expiresAt: number; member: MemberReference }
  | { kind: 'session'; hash: Uint8Array; token: Id<'utok'> | null; member: MemberReference | null }
  | {
      kind: 'slack_link';
      webhook: number;
      team: string;
      slackUser: string;
      member: MemberReference;
    }
);

interface MemberReference {
  id: Id<'member'>;
  role: MemberRole;
}

/** Lifetime of a session in milliseconds: since its last request, and since it began. */
export const SESSION_IDLE_TIME = 12 * HOUR;
export const SESSION_LIFETIME = 7 * DAY;

export const SERVICE_AUTHORITY: Authority = { kind: 'service', accounts: [] };

/** The authority of the service itself for writes to accounts: see {@link SERVICE_AUTHORITY}. */
export function serviceAuthority(accounts: Accounts): Authority {
  return { kind: 'service', accounts };
}

/**
 * The credential ended between authentication and commit: it was deleted or has expired, its agent
 * or account was deactivated or deleted, or its member was suspended or removed or got another
 * role. Nothing was written.
 */
export class CredentialEnded extends Error {}

/**
 * Whether a credential is valid at a time, as an SQL condition on the row of its account in
 * `accounts`.
 */
function isValidAt(credential: Credential, time: number | SQL): SQL {
  return sql`(${accounts.isActive} and ${isLiveAt(credential, time)})`;
}

function isLiveAt(credential: Credential, time: number | SQL): SQL {
  switch (credential.kind) {
    case 'user_token':
      return sql`exists (
        select 1 from ${userTokens}
        where ${userTokens.hash} = ${credential.hash} and ${userTokens.account} = ${credential.account}
          and coalesce(${userTokens.expiresAt} > ${time}, 1)
      ) and ${isMemberActive(credential)}`;
    case 'agent_key':
      return sql`exists (
        select 1 from ${agentKeys} join ${agents} on ${agents.number} = ${agentKeys.agent}
        where ${agentKeys.hash} = ${credential.hash} and ${agents.account} = ${credential.account}
          and coalesce(${agentKeys.expiresAt} > ${time}, 1) and ${agents.isActive})`;
    case 'session':
      return sql`exists (
        select 1 from ${sessions}
        where ${sessions.hash} = ${credential.hash} and ${sessions.lastSeenAt} > ${time} - ${SESSION_IDLE_TIME}
          and ${sessions.createdAt} > ${time} - ${SESSION_LIFETIME}
      ) and ${isTokenLive(credential, time)} and ${isMemberActive(credential)}`;
    case 'identity_token':
      return sql`${credential.expiresAt} > ${time} and ${isMemberActive(credential)}`;
    case 'slack_link':
      return sql`exists (
        select 1 from ${slackLinks}
        join ${webhooks} on ${webhooks.number} = ${slackLinks.webhook} and ${webhooks.account} = ${slackLinks.account}
        where ${slackLinks.account} = ${credential.account} and ${slackLinks.webhook} = ${credential.webhook}
          and ${slackLinks.team} = ${credential.team} and ${slackLinks.slackUser} = ${credential.slackUser}
          and ${slackLinks.member} = ${sql.param(credential.member.id, slackLinks.member)} and ${webhooks.isActive}
      ) and ${isMemberActive(credential)}`;
  }
}

/** Whether the user token with which a session was started still exists and has not expired. */
function isTokenLive(
  { account, token }: { account: number; token: Id<'utok'> | null },
  time: number | SQL,
): SQL {
  if (token === null) return sql`true`;
  return sql`exists (
    select 1 from ${userTokens}
    where ${userTokens.account} = ${account} and ${userTokens.id} = ${sql.param(token, userTokens.id)}
      and coalesce(${userTokens.expiresAt} > ${time}, 1))`;
}

/** Whether the member is active and has the role by which the request was authorized. */
function isMemberActive({
  account,
  member,
}: {
  account: number;
  member: MemberReference | null;
}): SQL {
  if (!member) return sql`true`;
  return sql`exists (
    select 1 from ${members}
    where ${members.account} = ${account} and ${members.id} = ${sql.param(member.id, members.id)}
      and ${members.status} = ${codeOf(MEMBER_STATUSES, 'active')}
      and ${members.role} = ${codeOf(MEMBER_ROLES, member.role)})`;
}

/**
 * The guard of a credential: it must be valid at a time.
 * @param time milliseconds since the epoch; SQL may read the row of the credential's account in
 *   `accounts`
 */
export function credentialGuard(credential: Credential, time: number | SQL): Guard {
  return {
    name: 'credential_is_valid',
    holds: sql`exists (
      select 1 from ${accounts}
      where ${accounts.number} = ${credential.account} and ${isValidAt(credential, time)})`,
    otherwise: new CredentialEnded(),
  };
}
