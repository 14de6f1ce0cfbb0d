import { Hono } from 'hono';
import * as z from 'zod';
import type { AppEnv } from '../../http/context';
import { EXAMPLE } from '../../http/examples';
import { noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { lazy } from '../../lib/lazy';

const ServerMetadata = lazy(() =>
  z
    .object({
      issuer: z.url(),
      jwks_uri: z.url(),
      introspection_endpoint: z.url(),
      introspection_endpoint_auth_methods_supported: z.array(z.string()),
      revocation_endpoint: z.url(),
      response_types_supported: z.array(z.string()),
      grant_types_supported: z.array(z.string()),
      authorization_details_types_supported: z.array(z.string()),
    })
    .meta({ id: 'ServerMetadata', examples: [describeServer(EXAMPLE.origin)] }),
);

/**
 * The service's metadata as an authorization server (RFC 8414 section 2). There are no grant or response types, because
 * tokens are issued by the approval of a permission.
 */
function describeServer(issuer: string) {
  return {
    issuer,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    introspection_endpoint: `${issuer}/v1/tokens/introspect`,
    introspection_endpoint_auth_methods_supported: ['Bearer'],
    revocation_endpoint: `${issuer}/v1/tokens/revoke`,
    response_types_supported: [],
    grant_types_supported: [],
    authorization_details_types_supported: ['countersign'],
  };
}

export const getServerMetadataRoute = new Hono<AppEnv>().get(
  '/.well-known/oauth-authorization-server',
  operation({
    id: 'getServerMetadata',
    tag: 'Tokens',
    summary: 'Get the metadata of the authorization server',
    description: 'The endpoints that standard clients use (RFC 8414).',
    success: ok(ServerMetadata),
  }),
  noQuery(),
  (c) => answer(c, describeServer(c.var.config.publicUrl), { 'Cache-Control': 'public, max-age=3600' }),
);
