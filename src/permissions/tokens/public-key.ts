import * as z from 'zod';
import { lazy } from '../../lib/lazy';

/** The key of RFC 8037 appendix A. */
export const examplePublicKey = {
  kty: 'OKP',
  crv: 'Ed25519',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
  kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
  use: 'sig',
  alg: 'EdDSA',
};

/** A public key that verifies tokens or logs (RFC 7517 section 4, of the type of RFC 8037 section 2). */
export const PublicKey = lazy(() =>
  z
    .object({
      kty: z.literal('OKP'),
      crv: z.literal('Ed25519'),
      x: z.string().meta({ description: 'The key, in base64url.' }),
      kid: z.string().meta({
        description:
          'Its JWK thumbprint (RFC 7638), with the prefix `log-` for keys of logs. The header of a token names its key.',
      }),
      use: z.literal('sig'),
      alg: z.literal('EdDSA'),
    })
    .meta({ id: 'PublicKey', examples: [examplePublicKey] }),
);
