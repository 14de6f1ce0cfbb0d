import { ApiError } from '../errors.ts';
import { CliClient } from './client.ts';
import { command } from './command.ts';
import { credentialsFile, readCredentials, writeCredentials } from './credentials.ts';
import { Failure } from './failures.ts';
import { note } from './print.ts';
import { findAddress } from './service.ts';

export const logout = command({
  name: 'logout',
  description: 'Revokes the token that login stored, and deletes it from this machine.',
  args: {},
  examples: ['countersign logout', 'countersign logout --url https://countersign.example.com'],
  async run({ args, session }) {
    const { io } = session;
    const baseUrl = findAddress(io, args.url);
    const credentials = readCredentials(io);
    const stored = credentials.services[baseUrl];
    if (!stored) throw new Failure(`You are not signed in to ${baseUrl}.`);
    const client = new CliClient({
      baseUrl,
      apiKey: stored.token,
      fetch: io.fetch,
      clock: io.clock,
    });
    try {
      await client.deleteUserToken(stored.id);
    } catch (error) {
      // An ended token is revoked. Any other failure leaves a token that works, so it is not
      // forgotten.
      if (!(error instanceof ApiError && (error.status === 401 || error.status === 404))) {
        await note(session, `The token was not revoked, and stays in ${credentialsFile(io)}.`);
        throw error;
      }
    }
    delete credentials.services[baseUrl];
    const [other = null] = Object.keys(credentials.services);
    if (credentials.current === baseUrl) credentials.current = other;
    writeCredentials(io, credentials);
    await note(session, `Signed out of ${baseUrl}.`);
  },
});
