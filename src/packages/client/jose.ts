// Loaded when a token is verified, so that a program that verifies none does not load the library.
export { createLocalJWKSet, createRemoteJWKSet, customFetch, jwtVerify } from 'jose';
