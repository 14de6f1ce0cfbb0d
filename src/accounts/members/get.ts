import { Hono } from 'hono';
import { userAccess } from '../../http/access';
import { noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { Member, memberInPath, presentMember, requireMember } from './member';

export const getMemberRoute = new Hono().get(
  '/v1/members/:id',
  operation({
    id: 'getMember',
    tag: 'Members',
    summary: 'Get a member',
    description: 'Also a removed one, as long as the audit log may name it.',
    success: ok(Member),
    pathId: 'member',
  }),
  userAccess('account:read', memberInPath),
  noQuery(),
  async (c) => answer(c, presentMember(requireMember(c.var.loaded.member))),
);
