import { type SQL, sql } from 'drizzle-orm';
import { accounts, agentKeys, agents, guards, userTokens } from '../db/schema';

/** By whose authority something is written. A credential has to be valid still when it is written. */
export type Authority =
  /** The service by itself, the operator, or a signed address: nothing in the database can revoke them. */
  { kind: 'service' } | Credential;

/** A credential that was authenticated. It can end before what it asked for is written. */
export type Credential = CredentialBasis & {
  /** The time of the request in milliseconds since the epoch: one for everything that it writes. */
  now: () => number;
};

/** What the validity of a credential rests on, beside its account: a row by its hash, or the end of a JWT. */
export type CredentialBasis = { account: number } & (
  | { kind: 'user_token'; hash: Uint8Array }
  | { kind: 'agent_key'; hash: Uint8Array }
  | { kind: 'identity_token'; expiresAt: number }
);

export const SERVICE: Authority = { kind: 'service' };

/**
 * The credential ended between its authentication and the write: it was deleted or has expired, or its agent or account
 * was switched off or deleted. Nothing was written.
 */
export class AuthorityLost extends Error {}

/** The condition that a credential is valid at a time, as SQL on its row of `accounts`. */
export function isValidAt(credential: Credential, time: number | SQL): SQL {
  return sql`(${accounts.isActive} and ${endsAfter(credential, time)})`;
}

function endsAfter(credential: Credential, time: number | SQL): SQL {
  switch (credential.kind) {
    case 'user_token':
      return sql`exists (
        select 1 from ${userTokens}
        where ${userTokens.hash} = ${credential.hash} and coalesce(${userTokens.expiresAt} > ${time}, 1))`;
    case 'agent_key':
      return sql`exists (
        select 1 from ${agentKeys} join ${agents} on ${agents.number} = ${agentKeys.agent}
        where ${agentKeys.hash} = ${credential.hash} and coalesce(${agentKeys.expiresAt} > ${time}, 1)
          and ${agents.isActive})`;
    case 'identity_token':
      return sql`${credential.expiresAt} > ${time}`;
  }
}

/** A statement that fails, and its batch with it, unless a credential is valid at the time of its request. */
export function requireValid(credential: Credential): SQL {
  return sql`
    insert into ${guards} (condition) select null where not exists (
      select 1 from ${accounts}
      where ${accounts.number} = ${credential.account} and ${isValidAt(credential, credential.now())})`;
}
