import { Hono } from 'hono';
import * as z from 'zod';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { lazy } from '../../lib/lazy';
import { examplePasskey, Passkey, presentPasskey, selectPasskeys } from '../passkeys/passkey';
import { exampleMember, Member, type MemberRow, memberInPath, presentMember, requireMember } from './member';

export const MemberDetails = lazy(() =>
  Member()
    .extend({
      passkeys: z
        .array(Passkey())
        .optional()
        .meta({ description: 'All passkeys, also removed ones. Only with the scope `audit:read`.' }),
    })
    .meta({ id: 'MemberDetails', examples: [{ ...exampleMember, passkeys: [examplePasskey] }] }),
);

export type MemberDetails = z.output<ReturnType<typeof MemberDetails>>;

/** Returns a member, with the passkeys for a caller who may read the audit log. */
export async function getMember(
  { reader, principal }: UserContext,
  { member }: { member: MemberRow },
): Promise<MemberDetails> {
  const shown = presentMember(member);
  if (!principal.scopes.includes('audit:read')) return shown;
  const [rows] = await reader.load([selectPasskeys(reader, principal.account.number, member.id)]);
  return { ...shown, passkeys: rows.map(presentPasskey) };
}

export const getMemberRoute = new Hono().get(
  '/v1/members/:id',
  operation({
    id: 'getMember',
    tag: 'Members',
    summary: 'Get a member',
    description:
      'Also a removed one, as long as the audit log may name it. With the scope `audit:read`, shows the passkeys too, so ' +
      'that an auditor can check signed decisions.',
    success: ok(MemberDetails),
    pathId: 'member',
  }),
  userAccess('account:read', memberInPath),
  noQuery(),
  async (c) => answer(c, await getMember(c.var.context, { member: requireMember(c.var.loaded.member) })),
);
