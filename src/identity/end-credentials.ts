import { and, eq, sql } from 'drizzle-orm';
import { sessions, slackLinks, userTokens } from '../db/schema';
import type { RecordWriter } from '../ledger/ledger';
import type { Id } from '../lib/typeid';

/**
 * Makes the statements that end every session and token of a member, and the links of Slack users
 * to the member.
 */
export function endCredentials(write: RecordWriter, account: number, member: Id<'member'>) {
  const isToken = and(eq(userTokens.account, account), eq(userTokens.member, member));
  const ofToken = sql`${sessions.token} in (select ${userTokens.id} from ${userTokens} where ${isToken})`;
  return [
    write.delete(sessions).where(and(eq(sessions.account, account), eq(sessions.member, member))),
    write.delete(sessions).where(and(eq(sessions.account, account), ofToken)),
    write.delete(userTokens).where(isToken),
    write
      .delete(slackLinks)
      .where(and(eq(slackLinks.account, account), eq(slackLinks.member, member))),
  ];
}
