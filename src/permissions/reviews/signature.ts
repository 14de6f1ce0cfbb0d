import * as z from 'zod';
import type { VoteSignature } from '../../db/schema';
import { invalidRequest, Problem } from '../../errors';
import type { UserContext } from '../../http/context';
import { EXAMPLE } from '../../http/examples';
import { isWithinLimit, MAX_SIGNATURE_BYTES } from '../../identity/passkeys/signature-size';
import { AuthenticationResponse, verifyAuthentication } from '../../identity/passkeys/webauthn';
import { fromBase64Url, toBase64Url } from '../../lib/bytes';
import { lazy } from '../../lib/lazy';
import { MINUTE, parseDateTime } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import type { DecidingContext, Decision } from './decision';
import { decisionStatement, statementHash } from './decision-statement';
import { personRequired } from './voter';

/** How far the time of a signature may be from the clock of the service, in milliseconds. */
export const SIGNING_TOLERANCE = 5 * MINUTE;

/** The fields by which a decision is signed. They come together. */
export const signatureFields = lazy(() => ({
  assertion: AuthenticationResponse().optional().meta({
    description: 'The signature of the statement by a passkey of the member who decides.',
  }),
  signed_at: z
    .string()
    .refine((text) => parseDateTime(text) !== null, 'must be a date-time')
    .optional()
    .meta({
      format: 'date-time',
      description: '`signed_at` of the statement.',
      examples: [EXAMPLE.time],
    }),
}));

export interface Signed {
  assertion?: AuthenticationResponse | undefined;
  signed_at?: string | undefined;
}

/** @throws Problem `person_required` for the account's own token */
export function requireSigner({ principal: { member } }: UserContext): Id<'member'> {
  if (!member) throw personRequired('Only a member can sign a decision.');
  return member.id;
}

function incompleteSignature(missing: keyof Signed, given: keyof Signed): Problem {
  return invalidRequest([
    { path: `body.${missing}`, message: `is needed together with \`${given}\`` },
  ]);
}

/**
 * Makes the function that verifies the signature of a decision; null for an unsigned one.
 * @throws Problem `invalid_request` if only one of `assertion` and `signed_at` is given
 */
export function makeSignatureVerifier(
  context: UserContext,
  { kind, reason }: Pick<Decision, 'kind' | 'reason'>,
  { assertion, signed_at: signedAt }: Signed,
): DecidingContext['verifySignature'] {
  if (!assertion && signedAt === undefined) return null;
  if (!assertion) throw incompleteSignature('assertion', 'signed_at');
  if (signedAt === undefined) throw incompleteSignature('signed_at', 'assertion');
  return async (row, limits, passkey) => {
    const member = requireSigner(context);
    const statement = decisionStatement(context, {
      row,
      member,
      kind,
      reason,
      limits,
      signedAt,
    });
    const away = Math.abs((parseDateTime(signedAt) ?? 0) - context.runtime.now());
    if (away > SIGNING_TOLERANCE)
      throw invalidAssertion('body.signed_at', 'must be within 5 minutes of now');
    const hash = await statementHash(statement);
    const owned = passkey && { ...passkey, accountId: context.principal.account.id };
    const use = owned && (await verifyAuthentication(context.config, hash, assertion, owned));
    if (!use)
      throw invalidAssertion(
        'body.assertion',
        'is not a signature of this decision by a passkey of yours',
      );
    if (use.wentBack) {
      const message =
        'is by a passkey whose signature counter went back: sign in with it, and then sign the decision';
      throw invalidAssertion('body.assertion', message);
    }
    const { authenticatorData, clientDataJSON, signature } = assertion.response;
    const stored = {
      credential_id: reencode(assertion.id),
      signed_at: signedAt,
      authenticator_data: reencode(authenticatorData),
      client_data_json: reencode(clientDataJSON),
      signature: reencode(signature),
    };
    if (!isWithinLimit(stored)) {
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
