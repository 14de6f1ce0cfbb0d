import { Hono } from 'hono';
import * as z from 'zod';
import { sharedAccess } from '../../http/access';
import type { Context } from '../../http/context';
import { EXAMPLE, exampleId } from '../../http/examples';
import { noQuery, oauthBody, readJsonOrForm } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { countField, idField, objectField } from '../../http/response-fields';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { SECOND } from '../../lib/time';
import { visiblePermission } from '../find-permission';
import { type PermissionRow, tokenAt } from '../permission';
import { preloadPermissionOfToken, tokenText, tokenTypeHint } from './token-input';
import { TokenSigner } from './token-signer';

const TokenIntrospection = lazy(() =>
  z
    .strictObject({ token: tokenText(), token_type_hint: tokenTypeHint().optional() })
    .meta({ id: 'TokenIntrospection', examples: [{ token: EXAMPLE.token }] }),
);

/**
 * The answer for every token that is not usable or not the caller's. It does not say why (RFC 7662
 * section 2.2).
 */
const INACTIVE = { active: false } as const;

const ActiveToken = lazy(() =>
  z
    .object({
      active: z.literal(true),
      token_type: z.literal('Bearer'),
      iss: z.url().meta({ description: 'The service.' }),
      aud: z.url().meta({ description: 'The service.' }),
      sub: idField('agent'),
      client_id: idField('agent'),
      iat: countField.meta({ description: 'When it was issued, in seconds since the epoch.' }),
      exp: countField.meta({ description: 'When it ends, in seconds since the epoch.' }),
      jti: idField('token'),
      authorization_details: z
        .array(
          z.object({
            type: z.literal('countersign'),
            action: z.string(),
            resource: z.string(),
            scope: objectField,
            permission_id: idField('perm'),
            input_digest: z.string().optional().meta({
              description: 'The digest of the permitted input. Absent if the request had none.',
            }),
          }),
        )
        .meta({ description: 'The permitted action, resource and limits (RFC 9396).' }),
    })
    .meta({
      id: 'ActiveToken',
      description: 'The claims of a token that is active.',
      examples: [
        {
          active: true,
          token_type: 'Bearer',
          iss: EXAMPLE.origin,
          aud: EXAMPLE.origin,
          sub: exampleId('agent'),
          client_id: exampleId('agent'),
          iat: Date.parse(EXAMPLE.time) / SECOND,
          exp: Date.parse(EXAMPLE.laterTime) / SECOND,
          jti: exampleId('token'),
          authorization_details: [
            {
              type: 'countersign',
              action: EXAMPLE.action,
              resource: EXAMPLE.resource,
              scope: EXAMPLE.narrowedScope,
              permission_id: exampleId('perm'),
            },
          ],
        },
      ],
    }),
);

const InactiveToken = lazy(() =>
  z.strictObject({ active: z.literal(false) }).meta({
    id: 'InactiveToken',
    description:
      'A token that is not active, whose agent is inactive or whose account is stopped, or that the caller may not see.',
    examples: [INACTIVE],
  }),
);

export const Introspection = lazy(() => z.union([ActiveToken(), InactiveToken()]));

export type Introspection = LazyOutput<typeof Introspection>;

/**
 * Returns the claims of a token if it is active, its agent is too and the account is not stopped,
 * and otherwise only that it is inactive (RFC 7662, with the authorization details of RFC 9396
 * section 9.2). This does not count as a use.
 */
export async function introspectToken(
  { principal, runtime, config }: Context,
  { permission }: { permission: PermissionRow | undefined },
): Promise<Introspection> {
  if (principal.account.isStopped) return INACTIVE;
  const row = visiblePermission(principal, permission);
  const token = row && tokenAt(row, runtime.now());
  // The token of a connection's permission works nowhere else.
  if (!row || row.connectionId !== null) return INACTIVE;
  if (!row.agentIsActive || token?.status !== 'active') return INACTIVE;
  const signer = await TokenSigner.open(config);
  return { active: true, token_type: 'Bearer', ...signer.payload(row, token) };
}

export const introspectTokenRoute = new Hono().post(
  '/v1/tokens/introspect',
  operation({
    id: 'introspectToken',
    tag: 'Tokens',
    summary: 'Introspect a token',
    description:
      'Says whether a token is active, with its claims (RFC 7662). This does not count as a use.',
    success: ok(Introspection),
  }),
  sharedAccess('tokens:use', preloadPermissionOfToken(readJsonOrForm)),
  noQuery(),
  oauthBody(TokenIntrospection),
  async (c) =>
    answer(c, await introspectToken(c.var.context, { permission: c.var.loaded.permission?.[0] })),
);
