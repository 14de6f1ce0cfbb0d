import { sql } from 'drizzle-orm';
import { invalidRequest } from '../errors';
import { toHex } from '../lib/bytes';
import { type Id, idBytes } from '../lib/typeid';
import type { Guard } from './guard';

/** The guard of a write that names agents in `agent_ids`: all of them are of the account. */
export function ownAgentsGuard(account: number, ids: readonly Id<'agent'>[]): Guard {
  const named = JSON.stringify(ids.map((id) => toHex(idBytes(id))));
  return {
    name: 'agents_are_of_account',
    holds: sql`not exists (
      select 1 from json_each(${named}) as named where not exists (
        select 1 from agents where agents.id = unhex(named.value) and agents.account = ${account})
    )`,
    otherwise: () =>
      invalidRequest([{ path: 'body.agent_ids', message: 'must be agents of this account' }]),
  };
}
