import { and, gt, inArray, type SQL, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { codeOf } from '../../db/columns';
import { ConstraintError } from '../../db/database';
import { agents, permissions, TOKEN_STATUSES } from '../../db/schema';
import { type PROBLEMS, Problem, unavailable } from '../../errors';
import { sharedAccess } from '../../http/access';
import type { Context } from '../../http/context';
import { EXAMPLE, exampleId } from '../../http/examples';
import { plainText } from '../../http/fields';
import { body, noQuery, readJson } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { countField, idField, objectField, timeField } from '../../http/response-fields';
import type { Entry } from '../../ledger/entry';
import { lazy } from '../../lib/lazy';
import { formatTime } from '../../lib/time';
import { draftPermissionEntry } from '../draft-entry';
import { findPermission, type GrantedToken, isPermission, type PermissionRow, tokenAt } from '../permission';
import { MAX_ACTION_LENGTH, MAX_RESOURCE_LENGTH } from '../permission-fields';
import { knownToken, permissionOfToken, tokenText } from './token-input';

const TokenUse = lazy(() =>
  z
    .strictObject({
      token: tokenText(),
      // Compared, not judged: what no permission could be for is a mismatch like any other.
      action: plainText(MAX_ACTION_LENGTH).optional().meta({ description: "Must be the token's, where given." }),
      resource: plainText(MAX_RESOURCE_LENGTH).optional().meta({ description: "Must be the token's, where given." }),
    })
    .meta({
      id: 'TokenUse',
      examples: [{ token: EXAMPLE.token, action: EXAMPLE.action, resource: EXAMPLE.resource }],
    }),
);

type Input = z.output<ReturnType<typeof TokenUse>>;

/** Why a token cannot be used. */
type Refusal = (typeof PROBLEMS.token_not_active.reasons)[number];

/** What a use of a token allows. */
export const UsedToken = lazy(() =>
  z
    .object({
      active: z.literal(true),
      token_id: idField('token'),
      permission_id: idField('perm'),
      agent_id: idField('agent'),
      action: z.string(),
      resource: z.string(),
      scope: objectField.meta({ description: 'The limits to keep to.' }),
      uses: countField.meta({ description: 'Uses so far, this one included.' }),
      remaining_uses: countField,
      expires_at: timeField,
    })
    .meta({
      id: 'UsedToken',
      description: 'What the use of a token allows.',
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

export type UsedToken = z.output<ReturnType<typeof UsedToken>>;

/**
 * Takes one use of a token.
 * @param loaded the permission of the token, as the authentication brought it
 * @throws Problem `token_not_active`, with the reason; `conflict` when the account's log is full
 */
export async function useToken(
  context: Context,
  loaded: PermissionRow[] | undefined,
  input: Input,
): Promise<UsedToken> {
  const { principal, runtime, reader } = context;
  const row = knownToken(loaded, principal);
  if (!row) throw notActive('unknown');
  const now = runtime.now();
  const token = requireUsable(row, input, now);
  const { action, resource } = row;
  const entry = draftPermissionEntry(context, row, 'use', now, {
    scope: token.scope,
    policy_id: row.policyId,
    token_id: token.id,
  });
  const used = (uses: number): UsedToken => ({
    active: true,
    token_id: token.id,
    permission_id: row.id,
    agent_id: row.agentId,
    action,
    resource,
    scope: token.scope,
    uses,
    remaining_uses: token.maxUses - uses,
    expires_at: formatTime(token.expiresAt),
  });
  const uses = await takeUse(context, row, entry, used(token.uses + 1), now);
  if (uses !== null) return used(uses);
  const [again] = await reader.load([findPermission(reader, row.account, row.id)]);
  if (!again[0]) throw notActive('unknown');
  requireUsable(again[0], input, now);
  throw unavailable();
}

/**
 * Takes one use, with its entry.
 * @param expected the answer if no other use comes between
 * @returns the uses taken so far, or null when the token ended at the same time
 * @throws Problem `token_not_active` when the last use went to somebody else at the same time
 */
async function takeUse(
  { ledger }: Context,
  row: PermissionRow,
  entry: Entry,
  expected: UsedToken,
  now: number,
): Promise<number | null> {
  const ofToken = (number: SQL) =>
    sql<number>`(select ${number} from ${permissions} where ${isPermission(row.account, row.id)})`;
  try {
    const committed = await ledger.commit({
      changes: (write) => [
        write
          .update(permissions)
          .set({
            tokenUses: sql`token_uses + 1`,
            tokenStatus: sql`iif(token_uses + 1 >= token_max_uses,
              ${codeOf(TOKEN_STATUSES, 'used')}, ${codeOf(TOKEN_STATUSES, 'active')})`,
            lastEntry: entry.id,
            updatedAt: now,
          })
          .where(and(isPermission(row.account, row.id), isUsable(now)))
          .returning({ uses: permissions.tokenUses }),
      ],
      entries: [entry],
      answer: {
        value: expected,
        subject: row.agentId,
        settled: {
          uses: ofToken(sql`token_uses + 1`),
          remaining_uses: ofToken(sql`token_max_uses - token_uses - 1`),
        },
      },
    });
    return committed && (committed[0][0]?.uses ?? null);
  } catch (error) {
    throw error instanceof ConstraintError && error.subject === 'token_uses_left' ? notActive('used') : error;
  }
}

/**
 * The guard of a use: finds the permission only while its token is neither revoked nor expired, of an agent that is
 * switched on. That a use is left is the schema's to say, which refuses one too many.
 */
function isUsable(now: number) {
  return and(
    inArray(permissions.tokenStatus, ['active', 'used']),
    gt(permissions.tokenExpiresAt, now),
    sql`exists (select 1 from ${agents} where ${agents.number} = ${permissions.agent} and ${agents.isActive} = 1)`,
  );
}

function requireUsable(row: PermissionRow, input: Input, now: number): GrantedToken {
  const token = tokenAt(row, now);
  if (!token) throw notActive('unknown');
  if (token.status !== 'active') throw notActive(token.status);
  if (!row.agentIsActive) throw notActive('agent_inactive');
  const fits = (input.action ?? row.action) === row.action && (input.resource ?? row.resource) === row.resource;
  if (!fits) throw notActive('mismatch');
  return token;
}

const EXPLANATIONS: Record<Refusal, string> = {
  expired: 'The token has expired. Ask for permission again.',
  used: 'The token has no use left. Ask for permission again.',
  revoked: 'The token was revoked. Ask for permission again.',
  unknown: 'The token is none that this account knows.',
  mismatch: 'The token allows another action or resource.',
  agent_inactive: "The token's agent is switched off.",
};

function notActive(reason: Refusal): Problem {
  return new Problem('token_not_active', EXPLANATIONS[reason], { members: { reason } });
}

export const useTokenRoute = new Hono().post(
  '/v1/tokens/use',
  operation({
    id: 'useToken',
    tag: 'Tokens',
    summary: 'Use a token',
    description:
      'Takes one use of it, atomically, and tells what it allows. Whoever guards a resource calls this before acting.',
    success: ok(UsedToken),
    problems: ['token_not_active', 'conflict'],
  }),
  sharedAccess('tokens:use', permissionOfToken(readJson)),
  noQuery(),
  body(TokenUse),
  async (c) => answer(c, await useToken(c.var.context, c.var.loaded, c.req.valid('json'))),
);
