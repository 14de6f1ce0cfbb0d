import { and, eq, isNull, type SQL, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import { isPasskeyOf } from '../../db/passkeys-by-member';
import { members, notificationSettings, passkeys, receivers } from '../../db/schema';
import { userAccess } from '../../http/access';
import { userActivity } from '../../http/activity';
import type { AccountRef, UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { answer, noContent, operation } from '../../http/operation';
import { endCredentials } from '../../identity/end-credentials';
import type { FurtherChange, RecordWriter } from '../../ledger/ledger';
import { checkSeries } from '../../ledger/series-checks';
import { type Id, idBytes } from '../../lib/typeid';
import { endDevices } from '../../outbox/end-devices';
import { endInvitations } from './end-invitations';
import {
  isActiveOwner,
  isMemberAsRead,
  keptAfterRemoval,
  type MemberRow,
  memberWasAsRead,
  otherOwnerGuard,
  preloadMember,
  requireMember,
} from './member';
import { requireRankOver } from './rank';

/**
 * Removes a member for good, with all that {@link removeMemberStatements} ends or deletes, in one
 * transaction. Does nothing if the member is already removed.
 * @param further what else the same transaction changes
 * @throws Problem `insufficient_role` for an owner if the caller is not one; `last_owner` if the
 *   account would be left without an active owner; `conflict` for a member that was changed at the
 *   same time
 */
export async function removeMember(
  context: UserContext,
  { member, further }: { member: MemberRow; further?: FurtherChange | null },
): Promise<void> {
  const { principal, ledger, runtime } = context;
  const account = principal.account.number;
  requireRankOver(principal, member.role);
  if (member.status === 'removed') return;
  const found = isMemberAsRead(account, member);
  await ledger.change({
    record: userActivity(context, 'member.removed', member.id),
    furtherRecords: further?.records ?? [],
    guards: [
      memberWasAsRead(found),
      ...(isActiveOwner(member) ? [otherOwnerGuard(account, member.id)] : []),
      ...(further?.guards ?? []),
    ],
    changes: (write) => [
      ...removeMemberStatements(write, principal.account, {
        id: member.id,
        found,
        now: runtime.now(),
      }),
      ...(further?.changes(write) ?? []),
    ],
    answer: null,
  });
}

/**
 * Makes the statements that remove a member for good, end the member's tokens, sessions, passkeys
 * and devices and the open invitations that the member made, and delete the member's notification
 * settings.
 * @param found the condition that finds the member
 */
export function removeMemberStatements(
  write: RecordWriter,
  account: AccountRef,
  { id, found, now }: { id: Id<'member'>; found: SQL | undefined; now: number },
) {
  const columns = {
    status: 'removed' as const,
    invitationHash: null,
    invitationExpiresAt: null,
    invitedBy: null,
    activeSince: null,
    eraseAt: now + keptAfterRemoval(account),
    updatedAt: now,
  };
  return [
    write.update(members).set(columns).where(found),
    ...endCredentials(write, account.number, id),
    ...endDevices(write, account.number, eq(receivers.member, id)),
    endInvitations(write, account.number, { by: id, role: null, now }),
    checkSeries(write, account.number, now),
    write
      .update(passkeys)
      .set({ removedAt: now })
      .where(and(isPasskeyOf(account.number, sql`${idBytes(id)}`), isNull(passkeys.removedAt))),
    write
      .delete(notificationSettings)
      .where(
        and(eq(notificationSettings.account, account.number), eq(notificationSettings.member, id)),
      ),
  ] as const;
}

export const removeMemberRoute = new Hono().delete(
  '/v1/members/:id',
  operation({
    id: 'removeMember',
    tag: 'Members',
    summary: 'Remove a member',
    description:
      'Ends the access of the member for good, and the open invitations that the member made. Decisions that the member ' +
      'took stand. The webhooks, channels, connections, policies and account tokens that the member made stay. The ' +
      'member can be read as long as the audit log may name it.',
    success: noContent(),
    pathId: 'member',
    problems: ['insufficient_role', 'last_owner', 'conflict'],
  }),
  userAccess('account:write', preloadMember),
  noQuery(),
  async (c) => {
    await removeMember(c.var.context, { member: requireMember(c.var.loaded.member) });
    return answer(c, null);
  },
);
