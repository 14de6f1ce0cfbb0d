import { type SQL, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { permissions } from '../../db/schema';
import { type PROBLEMS, Problem, unavailable } from '../../errors';
import { sharedAccess } from '../../http/access';
import type { Context } from '../../http/context';
import { EXAMPLE, exampleId } from '../../http/examples';
import { seenText } from '../../http/fields';
import { body, noQuery, readJson } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { countField, idField, objectField, timeField } from '../../http/response-fields';
import type { Entry } from '../../ledger/entry';
import { requireNotStopped } from '../../ledger/stop';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { formatTime } from '../../lib/time';
import { userOfToken } from '../draft-entry';
import {
  findPermission,
  type GrantedToken,
  isPermissionWithId,
  type PermissionRow,
  tokenAt,
  visiblePermission,
} from '../permission';
import { MAX_ACTION_LENGTH, MAX_RESOURCE_LENGTH } from '../permission-fields';
import { countUse, draftUse, usesLeftGuard } from './count-use';
import { preloadPermissionOfToken, shortText, tokenText } from './token-input';

export const TokenUse = lazy(() =>
  z
    .strictObject({
      token: tokenText(),
      // Only compared, so any other form is a mismatch. What looks like another value is an invalid
      // field.
      action: seenText(MAX_ACTION_LENGTH)
        .optional()
        .meta({ description: "If given, must be the token's." }),
      resource: seenText(MAX_RESOURCE_LENGTH)
        .optional()
        .meta({ description: "If given, must be the token's." }),
      input_digest: shortText().optional().meta({
        description:
          'The digest of what is about to run. Must be given if the token has one, and only then.',
      }),
    })
    .meta({
      id: 'TokenUse',
      examples: [{ token: EXAMPLE.token, action: EXAMPLE.action, resource: EXAMPLE.resource }],
    }),
);

type UseInput = LazyOutput<typeof TokenUse>;

/** Why a token cannot be used. */
type Refusal = (typeof PROBLEMS.token_not_active.reasons)[number];

export const UsedToken = lazy(() =>
  z
    .object({
      active: z.literal(true),
      token_id: idField('token'),
      permission_id: idField('perm'),
      agent_id: idField('agent'),
      action: z.string(),
      resource: z.string(),
      scope: objectField.meta({ description: 'The limits to respect.' }),
      uses: countField.meta({ description: 'The uses so far, including this one.' }),
      remaining_uses: countField,
      expires_at: timeField,
    })
    .meta({
      id: 'UsedToken',
      description: 'What a use of the token allows.',
      examples: [
        {
          active: true,
          token_id: exampleId('token'),
          permission_id: exampleId('perm'),
          agent_id: exampleId('agent'),
          action: EXAMPLE.action,
          resource: EXAMPLE.resource,
          scope: EXAMPLE.narrowedScope,
          uses: 1,
          remaining_uses: 0,
          expires_at: EXAMPLE.laterTime,
        },
      ],
    }),
);

export type UsedToken = LazyOutput<typeof UsedToken>;

/**
 * Takes one use of a token, and returns what the token allows.
 * @throws Problem `account_stopped`; `token_not_active`, with the reason; `conflict` if the account's
 *   log is full; `unavailable` if the token could not be used for a moment but can be now
 */
export async function useToken(
  context: Context,
  { permission, ...input }: { permission: PermissionRow | undefined } & Omit<UseInput, 'token'>,
): Promise<UsedToken> {
  const { principal, runtime, reader } = context;
  requireNotStopped(principal.account);
  const row = visiblePermission(principal, permission);
  // A connection takes the use of its permissions itself.
  if (!row || row.connectionId !== null) throw notActive('unknown');
  const now = runtime.now();
  const token = requireUsable(row, input, now);
  const entry = draftUse(context, row, token);
  const used = (uses: number): UsedToken => ({
    active: true,
    token_id: token.id,
    permission_id: row.id,
    agent_id: row.agentId,
    action: row.action,
    resource: row.resource,
    scope: token.scope,
    uses,
    remaining_uses: token.maxUses - uses,
    expires_at: formatTime(token.expiresAt),
  });
  const uses = await takeUse(context, { row, entry, expected: used(token.uses + 1) });
  if (uses !== null) return used(uses);
  const [again] = await reader.load([findPermission(row.account, row.id)]);
  if (!again[0]) throw notActive('unknown');
  requireUsable(again[0], input, now);
  throw unavailable();
}

/**
 * Stores one use with its entry.
 * @param expected the answer if no other use happens at the same time
 * @returns the number of uses so far, or null if the token ended, or its agent became inactive, at
 *   the same time
 * @throws Problem `token_not_active` if somebody else took the last use at the same time
 */
async function takeUse(
  { ledger, runtime, principal }: Context,
  { row, entry, expected }: { row: PermissionRow; entry: Entry; expected: UsedToken },
): Promise<number | null> {
  const now = runtime.now();
  const ofToken = (number: SQL) =>
    sql<number>`(select ${number} from ${permissions} where ${isPermissionWithId(row.account, row.id)})`;
  const committed = await ledger.commit({
    guards: [usesLeftGuard(row, now, notActive('used'))],
    changes: (write) => [
      countUse(write, row, { usedBy: userOfToken(principal), now }).returning({
        uses: permissions.tokenUses,
      }),
    ],
    entries: [entry],
    answer: {
      value: expected,
      subject: row.agentId,
      computed: {
        uses: ofToken(sql`token_uses + 1`),
        remaining_uses: ofToken(sql`token_max_uses - token_uses - 1`),
      },
    },
  });
  return committed && (committed[0][0]?.uses ?? null);
}

function requireUsable(
  row: PermissionRow,
  input: Omit<UseInput, 'token'>,
  now: number,
): GrantedToken {
  const token = tokenAt(row, now);
  if (!token) throw notActive('unknown');
  if (token.status !== 'active') throw notActive(token.status);
  if (!row.agentIsActive) throw notActive('agent_inactive');
  const fits =
    (input.action ?? row.action) === row.action &&
    (input.resource ?? row.resource) === row.resource;
  if (!fits) throw notActive('mismatch');
  const digest = input.input_digest ?? null;
  if (digest !== row.inputDigest)
    throw notActive('mismatch', digestMismatch(row.inputDigest, digest));
  return token;
}

const EXPLANATIONS: Record<Refusal, string> = {
  expired: 'The token has expired. Ask for permission again.',
  used: 'The token has no use left. Ask for permission again.',
  revoked: 'The token was revoked. Ask for permission again.',
  unknown: 'The account has no such token.',
  mismatch: 'The token is for another action or resource.',
  agent_inactive: "The token's agent is inactive.",
};

function digestMismatch(bound: string | null, given: string | null): string {
  if (bound === null)
    return 'The token is not bound to an input. Send the request without `input_digest`.';
  if (given === null)
    return 'The token is bound to an input. Send the digest of what is about to run as `input_digest`.';
  return 'The input is not the one that was approved.';
}

function notActive(reason: Refusal, detail = EXPLANATIONS[reason]): Problem {
  return new Problem('token_not_active', detail, { members: { reason } });
}

export const useTokenRoute = new Hono().post(
  '/v1/tokens/use',
  operation({
    id: 'useToken',
    tag: 'Tokens',
    summary: 'Use a token',
    description:
      'Takes one use atomically, and says what the token allows. The guard of a resource calls this before it acts.',
    success: ok(UsedToken),
    problems: ['token_not_active', 'conflict'],
  }),
  sharedAccess('tokens:use', preloadPermissionOfToken(readJson), { heedsStop: true }),
  noQuery(),
  body(TokenUse),
  async (c) => {
    const input = { permission: c.var.loaded.permission?.[0], ...c.req.valid('json') };
    return answer(c, await useToken(c.var.context, input));
  },
);
