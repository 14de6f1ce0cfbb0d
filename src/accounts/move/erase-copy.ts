import { eq, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import type { Database } from '../../db/database';
import {
  accounts,
  agentKeys,
  agents,
  ERASURE_KINDS,
  erasures,
  files,
  MOVED_NUMBERS,
  members,
  moveNumbers,
  moves,
  sessions,
  trees,
  userTokens,
} from '../../db/schema';
import type { Statement } from '../../db/statements';
import { idBytes } from '../../lib/typeid';
import { type Move, takeTurn } from './turns';

const agentErasure = codeOf(ERASURE_KINDS, 'agent');
const receiverErasure = codeOf(ERASURE_KINDS, 'receiver');

/**
 * Deletes the copy of an account whose move was abandoned. The erasure tasks erase its remaining
 * rows.
 */
export async function eraseCopy(database: Database, arrival: Move): Promise<void> {
  const { build } = database;
  const { account } = arrival;
  await takeTurn(database, arrival, [
    ...deleteAccountRows(database, arrival),
    build.run(sql`insert into ${erasures} (kind, account, number)
      select iif(kind = ${codeOf(MOVED_NUMBERS, 'agent')}, ${agentErasure}, ${receiverErasure}), account, becomes
      from ${moveNumbers} where account = ${account}`),
    ...deleteArrival(database, account),
  ]);
}

/**
 * Makes the statements that delete the rows by which an account and its credentials are found. Its
 * other rows are erased later, like those of a deleted account.
 */
export function deleteAccountRows({ build }: Database, { account, id }: Move): Statement[] {
  const ownAgents = sql`(select ${agents.number} from ${agents} where ${agents.account} = ${account})`;
  return [
    build.delete(userTokens).where(eq(userTokens.account, account)),
    build.delete(sessions).where(eq(sessions.account, account)),
    build.delete(members).where(eq(members.account, account)),
    build.delete(agentKeys).where(sql`${agentKeys.agent} in ${ownAgents}`),
    build
      .insert(erasures)
      .values({ kind: 'account', account, number: account, subject: idBytes(id) }),
    build.delete(files).where(eq(files.account, account)),
    build.delete(trees).where(eq(trees.account, account)),
    build.delete(accounts).where(eq(accounts.number, account)),
  ];
}

/** Makes the statements that delete an arrival. */
export function deleteArrival({ build }: Database, account: number): Statement[] {
  return [
    build.delete(moveNumbers).where(eq(moveNumbers.account, account)),
    build.delete(moves).where(eq(moves.account, account)),
  ];
}
