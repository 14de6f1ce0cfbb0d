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
  receivers,
  sessions,
  slackLinks,
  userTokens,
} from '../db/schema';
import { DAY, HOUR } from '../lib/time';
import type { Id } from '../lib/typeid';
import { type Guard, prepareGuard } from './guard';
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
      receiver: number;
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
 * Prepares the guard of a credential, which must be valid at a time: once for each kind of
 * credential.
 * @param time SQL that may read the row of the credential's account in `accounts`, and has the
 *   placeholder `at` for a time in milliseconds since the epoch
 * @returns makes the guard of a credential with the value of that placeholder
 */
export function prepareCredentialGuard(time: SQL) {
  const prepared = new Map<string, ReturnType<typeof prepareGuard>>();
  return (credential: Credential, at: number): Guard => {
    const { kind } = credential;
    const member = 'member' in credential ? credential.member : null;
    const token = 'token' in credential ? credential.token : null;
    const form = `${kind} ${member !== null} ${token !== null}`;
    const guard =
      prepared.get(form) ??
      prepareGuard('credential_is_valid', () => isValidAt({ kind, member, token }, time));
    prepared.set(form, guard);
    const role = member && MEMBER_ROLES.indexOf(member.role);
    return guard({ ...credential, member: member?.id, role, at }, () => new CredentialEnded());
  };
}

/** The guard of a credential that must be valid now. */
export const credentialGuard = prepareCredentialGuard(sql`${sql.placeholder('at')}`);

/**
 * The parts of a credential that decide the guard's SQL. The values of a credential are
 * placeholders in it.
 */
interface Form {
  kind: Credential['kind'];
  member: unknown;
  token: unknown;
}

const ACCOUNT = sql.placeholder('account');
const HASH = sql.placeholder('hash');

/** Whether a credential is valid at a time, as an SQL condition. */
function isValidAt(form: Form, time: SQL): SQL {
  return sql`exists (
    select 1 from ${accounts}
    where ${accounts.number} = ${ACCOUNT} and ${accounts.isActive} and ${isLiveAt(form, time)})`;
}

function isLiveAt(form: Form, time: SQL): SQL {
  switch (form.kind) {
    case 'user_token':
      return sql`exists (
        select 1 from ${userTokens}
        where ${userTokens.hash} = ${HASH} and ${userTokens.account} = ${ACCOUNT}
          and coalesce(${userTokens.expiresAt} > ${time}, 1)
      ) and ${isMemberActive(form)}`;
    case 'agent_key':
      return sql`exists (
        select 1 from ${agentKeys} join ${agents} on ${agents.number} = ${agentKeys.agent}
        where ${agentKeys.hash} = ${HASH} and ${agents.account} = ${ACCOUNT}
          and coalesce(${agentKeys.expiresAt} > ${time}, 1) and ${agents.isActive})`;
    case 'session':
      return sql`exists (
        select 1 from ${sessions}
        where ${sessions.hash} = ${HASH} and ${sessions.lastSeenAt} > ${time} - ${SESSION_IDLE_TIME}
          and ${sessions.createdAt} > ${time} - ${SESSION_LIFETIME}
      ) and ${isTokenLive(form, time)} and ${isMemberActive(form)}`;
    case 'identity_token':
      return sql`${sql.placeholder('expiresAt')} > ${time} and ${isMemberActive(form)}`;
    case 'slack_link':
      return sql`exists (
        select 1 from ${slackLinks}
        join ${receivers} on ${receivers.number} = ${slackLinks.receiver} and ${receivers.account} = ${slackLinks.account}
        where ${slackLinks.account} = ${ACCOUNT} and ${slackLinks.receiver} = ${sql.placeholder('receiver')}
          and ${slackLinks.team} = ${sql.placeholder('team')}
          and ${slackLinks.slackUser} = ${sql.placeholder('slackUser')}
          and ${slackLinks.member} = ${sql.param(sql.placeholder('member'), slackLinks.member)}
          and ${receivers.isActive}
      ) and ${isMemberActive(form)}`;
  }
}

/** Whether the user token with which a session was started still exists and has not expired. */
function isTokenLive({ token }: Form, time: SQL): SQL {
  if (token === null) return sql`true`;
  return sql`exists (
    select 1 from ${userTokens}
    where ${userTokens.account} = ${ACCOUNT}
      and ${userTokens.id} = ${sql.param(sql.placeholder('token'), userTokens.id)}
      and coalesce(${userTokens.expiresAt} > ${time}, 1))`;
}

/** Whether the member is active and has the role by which the request was authorized. */
function isMemberActive({ member }: Form): SQL {
  if (member === null) return sql`true`;
  return sql`exists (
    select 1 from ${members}
    where ${members.account} = ${ACCOUNT}
      and ${members.id} = ${sql.param(sql.placeholder('member'), members.id)}
      and ${members.status} = ${codeOf(MEMBER_STATUSES, 'active')}
      and ${members.role} = ${sql.placeholder('role')})`;
}
