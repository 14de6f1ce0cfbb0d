import canonicalize from 'canonicalize';
import { and, eq, isNull, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Reader } from '../../db/database';
import { agents, members, passkeys, permissions, reviews, type VoteSignature } from '../../db/schema';
import { invalidRequest, Problem } from '../../errors';
import type { RequestContext, UserContext } from '../../http/context';
import { EXAMPLE } from '../../http/examples';
import { readJson, readObject } from '../../http/input';
import { AuthenticationResponse, verifyAuthentication } from '../../http/webauthn';
import { fromBase64Url, sha256, toBase64Url } from '../../lib/bytes';
import { isJsonObject } from '../../lib/json';
import { lazy } from '../../lib/lazy';
import { formatTime, MINUTE, parseDateTime } from '../../lib/time';
import { parseId } from '../../lib/typeid';
import type { DecidingContext, Decision, DecisionState } from '../decide';
import { findReviewedPermission, type ReviewedPermission } from '../permission';
import type { Limits } from './review';
import { voterColumns } from './reviewers';
import { personRequired } from './voter';

/** How far the time of a signature may be from the clock of the service, in milliseconds. */
const SIGNING_TOLERANCE = 5 * MINUTE;

const MAX_SIGNATURE_BYTES = 2 * 1024;

/** The fields by which a decision is signed. They come together. */
export const signatureFields = lazy(() => ({
  assertion: AuthenticationResponse()
    .optional()
    .meta({ description: 'The signature of the statement by a passkey of the member who decides.' }),
  signed_at: z
    .string()
    .refine((text) => parseDateTime(text) !== null, 'must be a date-time')
    .optional()
    .meta({ format: 'date-time', description: '`signed_at` of the statement.', examples: [EXAMPLE.time] }),
}));

interface Signed {
  assertion?: AuthenticationResponse | undefined;
  signed_at?: string | undefined;
}

type PasskeyRow = typeof passkeys.$inferSelect;

/** The preload of everything that a decision depends on: the permission in the path, the voter, and the passkey. */
export async function decisionInPath(c: RequestContext, reader: Reader, owner: SQL<number>, callerId: SQL) {
  const id = parseId('perm', c.req.param('id') ?? '');
  if (!id) return { permission: null, voter: null, passkey: null };
  const { assertion } = (await readObject(c, readJson)) ?? {};
  const now = c.var.runtime.now();
  return {
    permission: findReviewedPermission(reader, owner, id, now),
    voter: reader
      .select(voterColumns(now))
      .from(permissions)
      .innerJoin(reviews, and(eq(reviews.account, permissions.account), eq(reviews.id, permissions.id)))
      .innerJoin(agents, eq(agents.number, permissions.agent))
      .innerJoin(members, and(eq(members.account, permissions.account), sql`${members.id} = ${callerId}`))
      .where(and(eq(permissions.account, owner), eq(permissions.id, id))),
    passkey: selectPasskey(reader, owner, callerId, assertion),
  };
}

function selectPasskey(reader: Reader, owner: SQL<number>, member: SQL, assertion: unknown) {
  const named = isJsonObject(assertion) && typeof assertion.id === 'string' ? assertion.id : '';
  const id = fromBase64Url(named);
  if (!id?.length) return null;
  return reader
    .select()
    .from(passkeys)
    .where(
      and(
        eq(passkeys.account, owner),
        eq(passkeys.id, id),
        sql`${passkeys.member} = ${member}`,
        isNull(passkeys.removedAt),
      ),
    );
}

/** Takes the rows that {@link decisionInPath} found. */
export function decisionState(loaded: {
  permission?: ReviewedPermission[] | undefined;
  voter?: NonNullable<DecisionState['voter']>[] | undefined;
  passkey?: PasskeyRow[] | undefined;
}): DecisionState {
  return { permission: loaded.permission?.[0], voter: loaded.voter?.[0], passkey: loaded.passkey?.[0] };
}

/**
 * What a member signs: the decision with everything that it is about. The challenge of the signature is the SHA-256 of
 * its canonical form (RFC 8785).
 */
export function decisionStatement(
  { config, principal }: UserContext,
  row: ReviewedPermission,
  { decision, reason }: Pick<Decision, 'decision' | 'reason'>,
  { scope, tokenTtl, maxUses }: Limits,
  signedAt: string,
) {
  const { account, member } = principal;
  if (!member) throw personRequired('Only a member can sign a decision.');
  return {
    type: 'countersign/decision/v1',
    origin: config.publicUrl,
    account_id: account.id,
    member_id: member.id,
    permission_id: row.id,
    agent_id: row.agentId,
    decision,
    action: row.action,
    resource: row.resource,
    scope,
    token_ttl: tokenTtl,
    max_uses: maxUses,
    input_digest: row.inputDigest,
    preview_digest: row.previewDigest,
    reason,
    signed_at: signedAt,
  };
}

export function statementHash(statement: object): Promise<Uint8Array> {
  return sha256(canonicalize(statement) as string);
}

/**
 * Makes the function that verifies the signature of a decision; null for an unsigned one.
 * @throws Problem `invalid_request` if only one of `assertion` and `signed_at` is given
 */
export function makeSignatureVerifier(
  context: UserContext,
  decision: Pick<Decision, 'decision' | 'reason'>,
  { assertion, signed_at: signedAt }: Signed,
): DecidingContext['verifySignature'] {
  if (!assertion && signedAt === undefined) return null;
  if (!assertion || signedAt === undefined) {
    const [path, other] = assertion ? ['body.signed_at', 'assertion'] : ['body.assertion', 'signed_at'];
    throw invalidRequest([{ path, message: `is needed together with \`${other}\`` }]);
  }
  return async (row, limits, passkey) => {
    const statement = decisionStatement(context, row, decision, limits, signedAt);
    const away = Math.abs((parseDateTime(signedAt) ?? 0) - context.runtime.now());
    if (away > SIGNING_TOLERANCE) throw invalidAssertion('body.signed_at', 'must be within 5 minutes of now');
    const isValid =
      passkey &&
      (await verifyAuthentication(context.config, await statementHash(statement), assertion, passkey)) !== null;
    if (!isValid) {
      throw invalidAssertion('body.assertion', 'is not a signature of this decision by a passkey of yours');
    }
    const { authenticatorData, clientDataJSON, signature } = assertion.response;
    const stored = {
      credential_id: reencode(assertion.id),
      signed_at: signedAt,
      authenticator_data: reencode(authenticatorData),
      client_data_json: reencode(clientDataJSON),
      signature: reencode(signature),
    };
    if (JSON.stringify(stored).length > MAX_SIGNATURE_BYTES) {
      throw invalidAssertion('body.assertion', `must be at most ${MAX_SIGNATURE_BYTES} bytes`);
    }
    return stored satisfies VoteSignature;
  };
}

/** Re-encodes base64url so that unused bits are zero, the only form that verifiers accept. */
function reencode(text: string): string {
  return toBase64Url(fromBase64Url(text) ?? new Uint8Array());
}

function invalidAssertion(path: string, message: string): Problem {
  return new Problem(
    'invalid_assertion',
    'The signature is not accepted. Get the statement again, because other votes may have narrowed it, and sign it.',
    { errors: [{ path, message }] },
  );
}

/** The current time as `signed_at` of a new statement. */
export function signingTime({ runtime }: UserContext): string {
  return formatTime(runtime.now());
}
