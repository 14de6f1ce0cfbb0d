import * as z from 'zod';
import type { connections } from '../db/schema';
import { invalidRequest } from '../errors';
import { plainText } from '../http/fields';
import { type LazyOutput, lazy } from '../lib/lazy';
import { framesMessage, HEADER_NAME } from './header-names';

const MAX_HEADER_LENGTH = 128;
const MAX_PREFIX_LENGTH = 128;
const MAX_SECRET_LENGTH = 8_192;

/** The text of a header's value (RFC 9110 section 5.5), here without obsolete characters. */
const VISIBLE = '^[\\x20-\\x7e]*$';

/** How a connection proves to the other service who it is, as a client sets it. */
export const AuthInput = lazy(() =>
  z
    .discriminatedUnion(
      'type',
      [
        z.strictObject({ type: z.literal('none') }),
        z.strictObject({ type: z.literal('basic') }),
        z.strictObject({
          type: z.literal('header'),
          header: plainText(MAX_HEADER_LENGTH)
            .regex(HEADER_NAME, { error: 'must be the name of a header', abort: true })
            .refine(
              (name) => !framesMessage(name),
              'is a header that frames the message or that the service sets',
            )
            .default('Authorization'),
          prefix: plainText(MAX_PREFIX_LENGTH)
            .regex(new RegExp(VISIBLE), 'must be printable ASCII characters')
            .default('Bearer '),
        }),
      ],
      'must be one of none, basic, header',
    )
    .meta({
      id: 'ConnectionAuthInput',
      description:
        'How the credential is sent: not at all (`none`), as user and password (`basic`, RFC 7617), or in a header, behind ' +
        'a prefix (`header`).',
      examples: [{ type: 'header', header: 'Authorization', prefix: 'Bearer ' }],
    }),
);

export type AuthInput = LazyOutput<typeof AuthInput>;

/** How a connection proves to the other service who it is. The secret is never shown. */
export const ConnectionAuth = lazy(() =>
  z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('none') }),
      z.object({ type: z.literal('basic') }),
      z.object({ type: z.literal('header'), header: z.string(), prefix: z.string() }),
    ])
    .meta({
      id: 'ConnectionAuth',
      description: 'How the credential is sent. The secret itself is never shown.',
      examples: [{ type: 'header', header: 'Authorization', prefix: 'Bearer ' }],
    }),
);

/** The secret as a client sets it: what follows the prefix, or `user:password`. */
export const secretField = lazy(() =>
  plainText(MAX_SECRET_LENGTH)
    .min(1, 'must not be empty')
    .meta({
      description:
        'The credential: what follows `prefix`, or `user:password` for `basic`. It is stored encrypted, and no answer ' +
        'shows it. A change of the origin of `base_url` needs it again.',
      writeOnly: true,
    }),
);

type AuthColumns = Pick<typeof connections.$inferSelect, 'authType' | 'authHeader' | 'authPrefix'>;

/** The columns of how the credential is sent. */
export function authColumns(auth: AuthInput): AuthColumns {
  if (auth.type !== 'header') return { authType: auth.type, authHeader: null, authPrefix: null };
  return { authType: auth.type, authHeader: auth.header, authPrefix: auth.prefix };
}

export function presentAuth({
  authType,
  authHeader,
  authPrefix,
}: AuthColumns): LazyOutput<typeof ConnectionAuth> {
  if (authType !== 'header') return { type: authType };
  return { type: authType, header: authHeader ?? '', prefix: authPrefix ?? '' };
}

/**
 * The secret for a way to send it; null if it sends none.
 * @param missing the message for a secret that is required but not given
 * @throws Problem `invalid_request` if it does not fit how it is sent
 */
export function requireSecret(
  { type }: AuthInput,
  secret: string | undefined,
  missing = 'is required',
): string | null {
  if (type === 'none' && secret === undefined) return null;
  const fault = secret === undefined ? missing : findSecretFault(type, secret);
  if (fault !== null) throw invalidRequest([{ path: 'body.secret', message: fault }]);
  return secret ?? null;
}

function findSecretFault(type: AuthInput['type'], secret: string): string | null {
  switch (type) {
    case 'none':
      return 'is not sent with the type `none`';
    case 'basic':
      // RFC 7617 section 2.
      if (/\p{Cc}/u.test(secret)) return 'must not have control characters';
      return secret.includes(':') ? null : 'must be user:password';
    case 'header':
      if (!new RegExp(VISIBLE).test(secret)) return 'must be printable ASCII characters';
      return secret.trim() === secret ? null : 'must not begin or end with a blank';
  }
}

/** The header that carries the credential of a connection; null if it has none. */
export function credentialHeader(
  { authType, authHeader, authPrefix }: AuthColumns,
  secret: string | null,
): { name: string; value: string } | null {
  if (authType === 'none' || secret === null) return null;
  if (authType === 'header')
    return { name: authHeader ?? '', value: `${authPrefix ?? ''}${secret}` };
  const encoded = new TextEncoder().encode(secret).toBase64();
  return { name: 'Authorization', value: `Basic ${encoded}` };
}

/** Shorter texts are not looked for in answers: they would stand there by chance. */
const MIN_CREDENTIAL_LENGTH = 8;

/** The texts by which a credential is known where the other service repeats it. */
export function credentialTexts(connection: AuthColumns, secret: string | null): string[] {
  if (secret === null) return [];
  const texts = [secret];
  if (connection.authType === 'basic') {
    texts.push(secret.slice(secret.indexOf(':') + 1));
    texts.push(new TextEncoder().encode(secret).toBase64());
  }
  return texts.filter(({ length }) => length >= MIN_CREDENTIAL_LENGTH);
}
