import { and, eq, isNull } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import type { Reader } from '../../db/database';
import { CHANNEL_KINDS, connections, policies, receivers, userTokens } from '../../db/schema';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { exampleId } from '../../http/examples';
import { noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { idField } from '../../http/response-fields';
import {
  examplePasskey,
  Passkey,
  presentPasskey,
  selectPasskeys,
} from '../../identity/passkeys/passkey';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { type Id, withPrefix } from '../../lib/typeid';
import {
  exampleMember,
  Member,
  type MemberRow,
  preloadMember,
  presentMember,
  requireMember,
} from './member';

const StayingResources = lazy(() =>
  z
    .object({
      webhooks: z.array(idField('webhook')),
      channels: z.array(idField('chan')),
      connections: z.array(idField('conn')),
      policies: z.array(idField('policy')),
      tokens: z.array(idField('utok')).meta({ description: 'Tokens of the account itself.' }),
    })
    .meta({
      id: 'MemberLeaves',
      description: 'Ids of what the member created that is kept when the member is removed.',
      examples: [
        {
          webhooks: [exampleId('webhook')],
          channels: [],
          connections: [],
          policies: [exampleId('policy')],
          tokens: [],
        },
      ],
    }),
);

export const MemberDetails = lazy(() =>
  Member()
    .extend({
      leaves: StayingResources(),
      passkeys: z.array(Passkey()).optional().meta({
        description: 'All passkeys, also removed ones. Only with the scope `audit:read`.',
      }),
    })
    .meta({
      id: 'MemberDetails',
      examples: [
        {
          ...exampleMember,
          leaves: StayingResources().meta()?.examples?.[0],
          passkeys: [examplePasskey],
        },
      ],
    }),
);

export type MemberDetails = LazyOutput<typeof MemberDetails>;

/**
 * Returns a member and what the member leaves, with the passkeys for a caller who may read the
 * audit log.
 */
export async function getMember(
  { reader, principal }: UserContext,
  { member }: { member: MemberRow },
): Promise<MemberDetails> {
  const account = principal.account.number;
  const [madeReceivers, madeConnections, madePolicies, tokens, passkeys] = await reader.load([
    ...selectLeft(reader, account, member.id),
    selectPasskeys(reader, account, member.id),
  ]);
  const leaves = {
    webhooks: madeReceivers.filter(({ kind }) => kind === 'webhook').map(({ id }) => id),
    channels: madeReceivers
      .filter(({ kind }) => CHANNEL_KINDS.some((each) => each === kind))
      .map(({ id }) => withPrefix('chan', id)),
    connections: madeConnections.map(({ id }) => id),
    policies: madePolicies.map(({ id }) => id),
    tokens: tokens.map(({ id }) => id),
  };
  const details = { ...presentMember(member), leaves };
  return principal.scopes.includes('audit:read')
    ? { ...details, passkeys: passkeys.map(presentPasskey) }
    : details;
}

/**
 * Selects the webhooks and channels, the connections, the policies, and the account's own tokens
 * that a member made.
 */
function selectLeft(reader: Reader, account: number, member: Id<'member'>) {
  return [
    reader
      .select({ id: receivers.id, kind: receivers.kind })
      .from(receivers)
      .where(and(eq(receivers.account, account), eq(receivers.createdBy, member)))
      .orderBy(receivers.id),
    reader
      .select({ id: connections.id })
      .from(connections)
      .where(and(eq(connections.account, account), eq(connections.createdBy, member)))
      .orderBy(connections.id),
    reader
      .select({ id: policies.id })
      .from(policies)
      .where(and(eq(policies.account, account), eq(policies.createdBy, member)))
      .orderBy(policies.id),
    reader
      .select({ id: userTokens.id })
      .from(userTokens)
      .where(
        and(
          eq(userTokens.account, account),
          isNull(userTokens.member),
          eq(userTokens.createdBy, member),
        ),
      )
      .orderBy(userTokens.id),
  ] as const;
}

export const getMemberRoute = new Hono().get(
  '/v1/members/:id',
  operation({
    id: 'getMember',
    tag: 'Members',
    summary: 'Get a member',
    description:
      'Also a removed one, as long as the audit log may name it. `leaves` lists what the member made that stays when the ' +
      'member goes. With the scope `audit:read`, shows the passkeys too, so ' +
      'that an auditor can check signed decisions.',
    success: ok(MemberDetails),
    pathId: 'member',
  }),
  userAccess('account:read', preloadMember),
  noQuery(),
  async (c) =>
    answer(c, await getMember(c.var.context, { member: requireMember(c.var.loaded.member) })),
);
