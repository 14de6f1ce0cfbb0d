import { and, isNull, type SQL } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import type { Reader } from '../../db/database';
import { isPasskeyOf } from '../../db/passkeys-by-member';
import { passkeys, VOTE_DECISIONS } from '../../db/schema';
import { invalidRequest } from '../../errors';
import { userAccess } from '../../http/access';
import type { RequestContext, UserContext } from '../../http/context';
import { EXAMPLE, exampleId } from '../../http/examples';
import { choice } from '../../http/fields';
import { body, noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { countField, idField, objectField, timeField } from '../../http/response-fields';
import { Series } from '../../http/series';
import type { CallerSql } from '../../identity/credentials';
import { relyingParty } from '../../identity/passkeys/webauthn';
import { toBase64Url } from '../../lib/bytes';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { formatTime } from '../../lib/time';
import { limitsOf } from '../limits';
import { permissionFields } from '../permission-fields';
import { requireKeptSeries } from '../series/give';
import { SeriesInput } from '../series/terms';
import type { Decision, DecisionState } from './decision';
import { decisionStatement, statementHash } from './decision-statement';
import { readGenuine } from './genuine';
import { decisionState, preloadDecision } from './preload-decision';
import { requireSigner, SIGNING_TOLERANCE } from './signature';
import { requireMayDecide } from './voter';

const StatementRequest = lazy(() => {
  const { reason, scope, token_ttl, max_uses } = permissionFields();
  return z
    .strictObject({
      decision: choice(VOTE_DECISIONS),
      reason: reason.optional(),
      scope: scope.optional(),
      token_ttl: token_ttl.optional(),
      max_uses: max_uses.optional(),
      series: SeriesInput().optional(),
    })
    .meta({
      id: 'StatementRequest',
      examples: [{ decision: 'approve', reason: 'Ten are enough' }],
    });
});

const exampleStatement = {
  type: 'countersign/decision/v1',
  origin: 'https://countersign.example.com',
  account_id: exampleId('user'),
  member_id: exampleId('member'),
  permission_id: exampleId('perm'),
  agent_id: exampleId('agent'),
  decision: 'approve' as const,
  action: EXAMPLE.action,
  resource: EXAMPLE.resource,
  scope: EXAMPLE.narrowedScope,
  token_ttl: 900,
  max_uses: 1,
  input_digest: null,
  preview_digest: null,
  reason: 'Ten are enough',
  signed_at: EXAMPLE.time,
};

export const Statement = lazy(() =>
  z
    .object({
      statement: z
        .object({
          type: z.string(),
          origin: z.string(),
          account_id: idField('user'),
          member_id: idField('member'),
          permission_id: idField('perm'),
          agent_id: idField('agent'),
          decision: z.enum(VOTE_DECISIONS),
          action: z.string(),
          resource: z.string(),
          scope: objectField,
          token_ttl: countField,
          max_uses: countField,
          series: Series().optional(),
          input_digest: z.string().nullable(),
          preview_digest: z.string().nullable(),
          reason: z.string().nullable(),
          signed_at: timeField,
        })
        .meta({ description: 'What the passkey signs.' }),
      challenge: z.string().meta({
        description: 'SHA-256 of the statement in canonical form (RFC 8785), in base64url.',
      }),
      options: z
        .object({
          challenge: z.string(),
          rpId: z.string(),
          allowCredentials: z.array(z.object({ type: z.literal('public-key'), id: z.string() })),
          userVerification: z.literal('required'),
          timeout: countField,
        })
        .meta({ description: 'Options for `navigator.credentials.get`, in JSON form.' }),
    })
    .meta({
      id: 'Statement',
      examples: [
        {
          statement: exampleStatement,
          challenge: 'x5VbUP4Hc8uNDDWl2gZ0EJ5nDpZ1g3YqkqmJ4rUu8mE',
          options: {
            challenge: 'x5VbUP4Hc8uNDDWl2gZ0EJ5nDpZ1g3YqkqmJ4rUu8mE',
            rpId: 'countersign.example.com',
            allowCredentials: [{ type: 'public-key', id: 'mYnWbTgmYbNLRwHKQyTjnw' }],
            userVerification: 'required',
            timeout: 300_000,
          },
        },
      ],
    }),
);

export type Statement = LazyOutput<typeof Statement>;

interface StatementState extends DecisionState {
  /** The ids of the caller's passkeys. */
  passkeys: Uint8Array[];
}

/**
 * Returns what a member has to sign to decide a permission in this way, and the options for the
 * authenticator. Writes nothing.
 * @throws Problem `person_required` for the account's own tokens; otherwise as `decidePermission`
 *   does
 */
export async function getStatement(
  context: UserContext,
  state: StatementState,
  decision: Decision,
): Promise<Statement> {
  const row = await readGenuine(context, state, decision);
  requireMayDecide(context, {
    review: row.review,
    voter: state.voter,
    decision: decision.kind,
    isSigned: true,
    givesSeries: decision.narrowed.series !== undefined,
  });
  requireKeptSeries(context.principal.account, decision.narrowed.series);
  const statement = decisionStatement(context, {
    row,
    member: requireSigner(context),
    kind: decision.kind,
    reason: decision.reason,
    limits: limitsOf(row, decision.kind, decision.narrowed),
    signedAt: formatTime(context.runtime.now()),
  });
  const challenge = toBase64Url(await statementHash(statement));
  return {
    statement,
    challenge,
    options: {
      challenge,
      rpId: relyingParty(context.config),
      allowCredentials: state.passkeys.map((id) => ({
        type: 'public-key' as const,
        id: toBase64Url(id),
      })),
      userVerification: 'required',
      timeout: SIGNING_TOLERANCE,
    },
  };
}

/**
 * Preloads what a decision depends on, and the ids of the passkeys with which the member may sign
 * it.
 */
async function preloadStatement(c: RequestContext, reader: Reader, caller: CallerSql) {
  const { permission, voter, voterPasskeys } = await preloadDecision(c, reader, caller);
  return {
    permission,
    voter,
    voterPasskeys,
    passkeys: selectSigningPasskeys(reader, caller.account, caller.id),
  };
}

/** Selects the ids of a member's passkeys. */
export function selectSigningPasskeys(reader: Reader, account: SQL<number>, member: SQL) {
  const isOwn = and(isPasskeyOf(account, member), isNull(passkeys.removedAt));
  return reader.select({ id: passkeys.id }).from(passkeys).where(isOwn);
}

export const getStatementRoute = new Hono().post(
  '/v1/permissions/:id/statement',
  operation({
    id: 'getStatement',
    tag: 'Permissions',
    summary: 'Get the statement of a decision, to sign it',
    description:
      'Sign the challenge with a passkey, and send the response as `assertion`, together with the `signed_at` of the ' +
      'statement and the same fields, to approve or deny. Writes nothing.',
    success: ok(Statement),
    pathId: 'perm',
    problems: [
      'not_pending',
      'account_stopped',
      'person_required',
      'not_a_reviewer',
      'self_approval',
      'already_voted',
      'scope_widened',
      'conflict',
    ],
  }),
  userAccess('permissions:decide', preloadStatement),
  noQuery(),
  body(StatementRequest),
  async (c) => {
    const { decision: kind, reason, ...narrowed } = c.req.valid('json');
    const [path] = Object.keys(narrowed);
    if (kind === 'deny' && path !== undefined) {
      throw invalidRequest([{ path: `body.${path}`, message: 'is only for approvals' }]);
    }
    const { loaded, context } = c.var;
    const state = {
      ...decisionState(loaded),
      passkeys: (loaded.passkeys ?? []).map(({ id }) => id),
    };
    const input = { kind, narrowed, reason: reason || null, via: 'api' as const };
    return answer(c, await getStatement(context, state, input));
  },
);
