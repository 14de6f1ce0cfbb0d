import { and, eq, isNull } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { agentKeys, agents } from '../db/schema';
import { userAccess } from '../http/access';
import { targetExists, userActivity } from '../http/activity';
import type { UserContext } from '../http/context';
import { EXAMPLE, exampleId } from '../http/examples';
import { wholeNumber } from '../http/fields';
import { body, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { pathId } from '../http/path-id';
import { idField, timeField } from '../http/response-fields';
import { agentKeyField, makeAgentKey } from '../identity/agent-key';
import { displayPrefix } from '../lib/credential';
import { type LazyOutput, lazy } from '../lib/lazy';
import { formatTime, SECOND } from '../lib/time';
import type { Id } from '../lib/typeid';
import { agentNumberSql, isAgentWithId } from './agent';

export const KeyRotation = lazy(() =>
  z
    .strictObject({
      grace_period: wholeNumber(0, 2_592_000).default(86_400).meta({
        description:
          'For how many seconds the replaced key keeps working; 0 ends all older keys now.',
      }),
      revoke_immediately: z
        .boolean()
        .default(false)
        .meta({ description: 'Like a `grace_period` of 0.' }),
    })
    .meta({ id: 'KeyRotation', examples: [{ grace_period: 3_600 }] }),
);

export const RotatedKey = lazy(() =>
  z
    .object({
      id: idField('agent'),
      api_key: agentKeyField(),
      api_key_prefix: z.string(),
      old_key_expires_at: timeField.meta({ description: 'When the replaced key stops working.' }),
    })
    .meta({
      id: 'RotatedKey',
      examples: [
        {
          id: exampleId('agent'),
          api_key: EXAMPLE.agentKey,
          api_key_prefix: displayPrefix(EXAMPLE.agentKey),
          old_key_expires_at: EXAMPLE.laterTime,
        },
      ],
    }),
);

export type RotatedKey = LazyOutput<typeof RotatedKey>;

/**
 * Gives an agent a new key, and returns it. The replaced key works until the grace period ends, and
 * keys that were replaced earlier keep their end; without a grace period, all older keys end now.
 * @throws Problem `not_found`
 */
export async function rotateAgentKey(
  context: UserContext,
  { id, ...input }: { id: Id<'agent'> } & LazyOutput<typeof KeyRotation>,
): Promise<RotatedKey> {
  const account = context.principal.account.number;
  const number = agentNumberSql(account, id);
  const { key, prefix, hash } = await makeAgentKey(context);
  const now = context.runtime.now();
  const grace = input.revoke_immediately ? 0 : input.grace_period * SECOND;
  const rotated = {
    id,
    api_key: key,
    api_key_prefix: prefix,
    old_key_expires_at: formatTime(now + grace),
  };
  await context.ledger.change({
    record: userActivity(context, 'agent.key_rotated', id),
    guards: [targetExists('agent', agents, isAgentWithId(account, id))],
    changes: (write) => [
      grace === 0
        ? write.delete(agentKeys).where(eq(agentKeys.agent, number))
        : write
            .update(agentKeys)
            .set({ expiresAt: now + grace })
            .where(and(eq(agentKeys.agent, number), isNull(agentKeys.expiresAt))),
      write.insert(agentKeys).values({ hash, agent: number, createdAt: now }),
      write
        .update(agents)
        .set({ keyPrefix: prefix, updatedAt: now })
        .where(isAgentWithId(account, id)),
    ],
    answer: { value: rotated, subject: id },
  });
  return rotated;
}

export const rotateAgentKeyRoute = new Hono().post(
  '/v1/agents/:id/rotate-key',
  operation({
    id: 'rotateAgentKey',
    tag: 'Agents',
    summary: 'Give an agent a new key',
    description:
      'The replaced key works until the grace period ends. Keys that were replaced earlier keep their end, unless the ' +
      'grace period is 0.',
    success: ok(RotatedKey),
    pathId: 'agent',
  }),
  userAccess('agents:write'),
  noQuery(),
  body(KeyRotation),
  async (c) =>
    answer(
      c,
      await rotateAgentKey(c.var.context, { id: pathId(c, 'agent'), ...c.req.valid('json') }),
    ),
);
