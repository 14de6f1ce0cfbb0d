import { and, eq, isNull } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { agentKeys, agents } from '../db/schema';
import { notFound } from '../errors';
import { userAccess } from '../http/access';
import { asNotFound, userActivity } from '../http/activity';
import type { UserContext } from '../http/context';
import { EXAMPLE, exampleId } from '../http/examples';
import { wholeNumber } from '../http/fields';
import { body, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { idField, timeField } from '../http/response-fields';
import { displayPrefix } from '../lib/credential';
import { lazy } from '../lib/lazy';
import { formatTime, SECOND } from '../lib/time';
import { parseId } from '../lib/typeid';
import { agentNumber, agentOwner, isAgent } from './agent';
import { agentKey, issueAgentKey } from './agent-key';

const KeyRotation = lazy(() =>
  z
    .strictObject({
      grace_period: wholeNumber(0, 2_592_000)
        .default(86_400)
        .meta({ description: 'Seconds for which the replaced key goes on working; 0 ends every older key now.' }),
      revoke_immediately: z.boolean().default(false).meta({ description: 'Ends every older key now.' }),
    })
    .meta({ id: 'KeyRotation', examples: [{ grace_period: 3_600 }] }),
);

/** The outcome of a rotation; `api_key` is shown this once. */
export const RotatedKey = lazy(() =>
  z
    .object({
      id: idField('agent'),
      api_key: agentKey(),
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

export type RotatedKey = z.output<ReturnType<typeof RotatedKey>>;

/**
 * Gives an agent a new key. The replaced one works until the grace period is over; with none, every older key ends now.
 */
export async function rotateKey(
  context: UserContext,
  id: string,
  input: z.output<ReturnType<typeof KeyRotation>>,
): Promise<RotatedKey> {
  const agent = parseId('agent', id);
  if (!agent) throw notFound('agent');
  const account = context.principal.account.number;
  const number = agentNumber(account, agent);
  const { key, prefix, hash } = await issueAgentKey(context);
  const now = context.runtime.now();
  const grace = input.revoke_immediately ? 0 : input.grace_period * SECOND;
  const rotated = { id: agent, api_key: key, api_key_prefix: prefix, old_key_expires_at: formatTime(now + grace) };
  await context.ledger
    .change({
      record: userActivity(context, 'agent.key_rotated', agent, { account: agentOwner(account, agent) }),
      changes: (write) => [
        grace === 0
          ? write.delete(agentKeys).where(eq(agentKeys.agent, number))
          : write
              .update(agentKeys)
              .set({ expiresAt: now + grace })
              .where(and(eq(agentKeys.agent, number), isNull(agentKeys.expiresAt))),
        write.insert(agentKeys).values({ hash, agent: number, createdAt: now }),
        write.update(agents).set({ keyPrefix: prefix, updatedAt: now }).where(isAgent(account, agent)),
      ],
      answer: { value: rotated, subject: agent },
    })
    .catch(asNotFound('agent'));
  return rotated;
}

export const rotateKeyRoute = new Hono().post(
  '/v1/agents/:id/rotate-key',
  operation({
    id: 'rotateAgentKey',
    tag: 'Agents',
    summary: 'Give an agent a new key',
    description: 'The replaced key works until the grace period is over. A key that was replaced before keeps its end.',
    success: ok(RotatedKey),
    pathId: 'agent',
  }),
  userAccess('agents:write'),
  noQuery(),
  body(KeyRotation),
  async (c) => answer(c, await rotateKey(c.var.context, c.req.param('id'), c.req.valid('json'))),
);
