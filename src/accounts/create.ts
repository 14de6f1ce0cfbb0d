import { eq } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { leastFullShard } from '../db/least-full-shard';
import { accounts } from '../db/schema';
import { Problem } from '../errors';
import { accountNumberSql, OPERATOR, operatorActivity } from '../http/activity';
import { newId, type OperatorContext, SCOPES, type Shard } from '../http/context';
import { body, noQuery } from '../http/input';
import { answer, created, operation } from '../http/operation';
import { operatorAccess } from '../http/operator-access';
import {
  CreatedUserToken,
  exampleCreatedUserToken,
  makeUserToken,
} from '../identity/tokens/user-token';
import { type LazyOutput, lazy } from '../lib/lazy';
import { Account, accountFields, exampleAccount, NOT_STOPPED, presentAccount } from './account';
import { exampleInvitation, InvitedMember } from './members/invitation';
import { makeInvitedMember } from './members/invite';
import { exampleMember } from './members/member';

const AccountCreation = lazy(() =>
  z
    .strictObject({
      email: accountFields().email,
      name: accountFields().name.optional(),
      plan: accountFields().plan.default('free'),
      audit_retention_days: accountFields().audit_retention_days.optional(),
    })
    .meta({
      id: 'AccountCreation',
      examples: [
        { email: exampleAccount.email, name: exampleAccount.name, plan: exampleAccount.plan },
      ],
    }),
);

export const CreatedAccount = lazy(() =>
  Account()
    .extend({
      token: CreatedUserToken().meta({ description: 'Belongs to the account, not to a member.' }),
      owner: InvitedMember().meta({
        description: 'The first owner, with an invitation to the address of the account.',
      }),
    })
    .meta({
      id: 'CreatedAccount',
      description:
        'A new account, with its first user token, which has every scope, and its first owner.',
      examples: [
        {
          ...exampleAccount,
          token: { ...exampleCreatedUserToken, scopes: SCOPES },
          owner: {
            ...exampleMember,
            ...{ email: exampleAccount.email, name: null, role: 'owner', status: 'invited' },
            ...{ sign_in: [], last_seen_at: null, invitation: exampleInvitation },
          },
        },
      ],
    }),
);

export type CreatedAccount = LazyOutput<typeof CreatedAccount>;

/**
 * Creates an account with a first user token, which has every scope and never expires, and invites
 * its first owner.
 * @throws Problem `plan_required` for `audit_retention_days` on a plan that does not allow it
 */
export async function createAccount(
  context: OperatorContext,
  input: LazyOutput<typeof AccountCreation>,
): Promise<CreatedAccount> {
  if (input.audit_retention_days !== undefined && input.plan !== 'enterprise')
    throw retentionNotAllowed();
  const shard = await chooseShard(context);
  const now = context.runtime.now();
  const row = {
    id: newId(context.runtime, 'user'),
    email: input.email,
    name: input.name ?? null,
    plan: input.plan,
    auditRetentionDays: input.audit_retention_days ?? null,
    isActive: true,
    ...NOT_STOPPED,
    isWitnessed: false,
    createdAt: now,
    updatedAt: now,
  };
  const { token, store } = await makeUserToken(context, {
    shard: shard.name,
    account: row.id,
    member: null,
    createdBy: OPERATOR,
    input: {},
  });
  const owner = await makeInvitedMember(context, {
    shard: shard.name,
    by: null,
    account: eq(accounts.id, row.id),
    email: row.email,
    name: null,
    role: 'owner',
  });
  const created = { ...presentAccount(row), token, owner: owner.member };
  await shard.ledger.change({
    record: operatorActivity(context, 'user_token.created', token.id, accountNumberSql(row.id)),
    changes: (write) => [write.insert(accounts).values(row), store(write), owner.store(write)],
    answer: { value: created, subject: row.id },
  });
  return created;
}

/** Makes the problem for `audit_retention_days` on a plan that does not allow it. */
export function retentionNotAllowed(): Problem {
  return new Problem('plan_required', 'Only the plan enterprise may set audit_retention_days.', {
    errors: [{ path: 'body.audit_retention_days', message: 'needs the plan enterprise' }],
  });
}

/**
 * Chooses the least full shard. With an idempotency key the key decides, so that a retry reaches
 * the same shard.
 */
async function chooseShard({ shards, key }: OperatorContext): Promise<Shard> {
  if (key) return shards[(key[0] ?? 0) % shards.length] ?? shards[0];
  return leastFullShard(shards);
}

export const createAccountRoute = new Hono().post(
  '/v1/admin/users',
  operation({
    id: 'createAccount',
    tag: 'Operator',
    summary: 'Create an account',
    description:
      'Also creates its first user token, which has every scope, and invites its first owner. Send the URL of the ' +
      'invitation to the person: the service sends no mail.',
    success: created(CreatedAccount),
    problems: ['plan_required'],
  }),
  operatorAccess(),
  noQuery(),
  body(AccountCreation),
  async (c) => answer(c, await createAccount(c.var.operator, c.req.valid('json'))),
);
