/** Whom the tokens of the identity provider that runs beside the tests are for, and who gets them. */
export const AUDIENCE = 'https://countersign.test';
export const CLIENT = { id: 'operations', secret: 'secret-of-the-client' };
