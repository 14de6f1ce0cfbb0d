// Loaded only by the requests that need it: the library is a third of the code that parses at every
// start.
export { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server';
export { cose, decodeCredentialPublicKey } from '@simplewebauthn/server/helpers';
