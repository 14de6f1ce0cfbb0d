import { type SQL, sql } from 'drizzle-orm';
import { accounts, agentKeys, agents, guards, userTokens } from '../db/schema';

/** By whose authority the ledger writes. A credential is checked once more in the transaction that writes. */
export type Authority =
  /** The service itself, the operator, or a signed download address: nothing in the database revokes these. */
  { kind: 'service' } | Credential;

/** An authenticated credential. It can end before its request is committed. */
export type Credential = CredentialReference & {
  /** The time of the request in milliseconds since the epoch, the same at every call. */
  now: () => number;
};

/**
 * What the check needs: the hash, which the database must still have, or the expiry time of a JWT in milliseconds since
 * the epoch.
 */
export type CredentialReference = { account: number } & (
  | { kind: 'user_token'; hash: Uint8Array }
  | { kind: 'agent_key'; hash: Uint8Array }
  | { kind: 'identity_token'; expiresAt: number }
);

export const SERVICE_AUTHORITY: Authority = { kind: 'service' };

/**
 * The credential ended between authentication and commit: it was deleted or has expired, or its agent or account was
 * deactivated or deleted. Nothing was written.
 */
export class CredentialEnded extends Error {}

/** Whether a credential is valid at a time, as an SQL condition on the row of its account in `accounts`. */
export function isValidAt(credential: Credential, time: number | SQL): SQL {
  return sql`(${accounts.isActive} and ${isLiveAt(credential, time)})`;
}

function isLiveAt(credential: Credential, time: number | SQL): SQL {
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

/** Returns a statement that aborts its transaction unless the credential is valid at the time of its request. */
export function guardCredential(credential: Credential): SQL {
  return sql`
    insert into ${guards} (condition) select null where not exists (
      select 1 from ${accounts}
      where ${accounts.number} = ${credential.account} and ${isValidAt(credential, credential.now())})`;
}
