import { eq, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { accounts, members } from '../../db/schema';
import { notFound } from '../../errors';
import { userAccess } from '../../http/access';
import { Scope, type UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { Account, exampleAccount, presentAccount } from '../account';
import { exampleMember, isMemberWithId, Member, memberRow, presentMember } from '../members/member';

export const OwnAccount = lazy(() =>
  Account()
    .extend({
      member: Member()
        .nullable()
        .meta({ description: 'The member who calls; null for a token of the account itself.' }),
      scopes: z
        .array(Scope())
        .meta({ description: 'What the credential allows now: its scopes, limited by the role.' }),
    })
    .meta({
      id: 'OwnAccount',
      description: 'Your account, and who you are in it.',
      examples: [
        {
          ...exampleAccount,
          member: exampleMember,
          scopes: ['account:read', 'permissions:decide'],
        },
      ],
    }),
);

export type OwnAccount = LazyOutput<typeof OwnAccount>;

/**
 * Returns the caller's account, the member who calls, and the scopes of the credential.
 * @throws Problem `not_found` if the account was deleted meanwhile
 */
export async function getOwnAccount({ reader, principal }: UserContext): Promise<OwnAccount> {
  const { account, member, scopes } = principal;
  const isCaller = member ? isMemberWithId(account.number, member.id) : sql`false`;
  const [[row], [caller]] = await reader.load([
    reader.select().from(accounts).where(eq(accounts.number, account.number)),
    reader.select(memberRow).from(members).where(isCaller),
  ]);
  if (!row) throw notFound('account');
  return {
    ...presentAccount(row),
    member: caller ? presentMember(caller) : null,
    scopes: [...scopes],
  };
}

export const getOwnAccountRoute = new Hono().get(
  '/v1/me',
  operation({
    id: 'getOwnAccount',
    tag: 'Account',
    summary: 'Get your account',
    description: 'With the member who calls, and the scopes of the credential.',
    success: ok(OwnAccount),
    problems: ['not_found'],
  }),
  userAccess('account:read'),
  noQuery(),
  async (c) => answer(c, await getOwnAccount(c.var.context)),
);
