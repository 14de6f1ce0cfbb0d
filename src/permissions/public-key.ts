import { z } from 'zod';

/** A public key that tokens are verified with (RFC 7517 section 4, of the kind of RFC 8037 section 2). */
export const PublicKey = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string(),
  kid: z.string(),
  use: z.literal('sig'),
  alg: z.literal('EdDSA'),
});

export type PublicKey = z.output<typeof PublicKey>;
