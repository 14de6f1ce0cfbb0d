import type { AllowedCaller } from '../http/operation';

/** The kinds of credentials. Each is sent as `Authorization: Bearer <credential>`. */
export const SECURITY_SCHEMES = {
  userToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'csu_…',
    description:
      'A user token: `csu_` and 40 letters and digits, the last 6 a checksum. It acts for an account, within its scopes. ' +
      'If the deployment has an identity provider, its JWTs are accepted as well; a `scope` claim limits them.',
  },
  agentKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'csa_…',
    description:
      'The API key of an agent: `csa_` and 40 letters and digits, the last 6 a checksum.',
  },
  operatorToken: {
    type: 'http',
    scheme: 'bearer',
    description:
      'The secret `ADMIN_TOKEN` of the deployment. It is accepted under `/v1/admin` only.',
  },
} as const;

/**
 * The security requirements of an operation. A caller has to meet one of them. Empty if everybody
 * may call it.
 */
export function securityRequirements(callers: AllowedCaller[] = []): Record<string, string[]>[] {
  return callers.map((caller) => ({
    [caller.credential]: caller.credential === 'userToken' ? [...caller.scopes] : [],
  }));
}
