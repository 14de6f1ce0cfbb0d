/** The audience and the client of the identity provider that runs next to the tests. */
export const AUDIENCE = 'https://countersign.test';
export const CLIENT = { id: 'operations', secret: 'secret-of-the-client' };
