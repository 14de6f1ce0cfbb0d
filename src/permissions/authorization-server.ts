import { Hono } from 'hono';
import type { App } from '../http/context';
import { noQuery } from '../http/input';

const ONE_HOUR = 3_600;

/**
 * Where the endpoints are that standard clients use (RFC 8414 section 2). No grant and no response type: permissions are
 * asked for and decided, not exchanged.
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

/** The metadata of the authorization server, for anybody. */
export const authorizationServer = new Hono<App>().get('/.well-known/oauth-authorization-server', noQuery(), (c) =>
  c.json(describeServer(c.var.config.publicUrl), 200, { 'Cache-Control': `public, max-age=${ONE_HOUR}` }),
);
