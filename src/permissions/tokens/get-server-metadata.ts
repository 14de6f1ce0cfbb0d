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
      authorization_endpoint: z.url(),
      token_endpoint: z.url(),
      registration_endpoint: z.url(),
      jwks_uri: z.url(),
      introspection_endpoint: z.url(),
      introspection_endpoint_auth_methods_supported: z.array(z.string()),
      revocation_endpoint: z.url(),
      response_types_supported: z.array(z.string()),
      grant_types_supported: z.array(z.string()),
      authorization_details_types_supported: z.array(z.string()),
      service_documentation: z.url(),
    })
    .meta({ id: 'ServerMetadata', examples: [describeServer(EXAMPLE.origin)] }),
);

/**
 * The service's metadata as an authorization server (RFC 8414 section 2).
 *
 * A token is granted by the approval of a permission, and by no grant or response type of OAuth.
 * MCP clients look for a sign-in here all the same, and demand its three endpoints. Those answer
 * what to do about the key: see `mcp/oauth.ts`.
 */
function describeServer(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/mcp/oauth/authorize`,
    token_endpoint: `${issuer}/mcp/oauth/token`,
    registration_endpoint: `${issuer}/mcp/oauth/register`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    introspection_endpoint: `${issuer}/v1/tokens/introspect`,
    introspection_endpoint_auth_methods_supported: ['Bearer'],
    revocation_endpoint: `${issuer}/v1/tokens/revoke`,
    // RFC 8414 section 3.2 forbids empty lists. A list of grant types that is left out would stand
    // for two of OAuth.
    response_types_supported: ['none'],
    grant_types_supported: ['urn:countersign:grant-type:permission'],
    authorization_details_types_supported: ['countersign'],
    service_documentation: `${issuer}/docs/guides/mcp`,
  };
}

export const getServerMetadataRoute = new Hono<AppEnv>().get(
  '/.well-known/oauth-authorization-server',
  operation({
    id: 'getServerMetadata',
    tag: 'Tokens',
    summary: 'Get the metadata of the authorization server',
    description:
      'The endpoints that standard clients use (RFC 8414). There is no OAuth sign-in: `authorization_endpoint`, ' +
      '`token_endpoint` and `registration_endpoint` say how a client gets its key.',
    success: ok(ServerMetadata),
  }),
  noQuery(),
  (c) =>
    answer(c, describeServer(c.var.config.publicUrl), { 'Cache-Control': 'public, max-age=3600' }),
);
