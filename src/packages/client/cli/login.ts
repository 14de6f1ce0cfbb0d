import { hostname } from 'node:os';
import { Countersign } from '../countersign.ts';
import { ApiError, ConnectionError } from '../errors.ts';
import { command } from './command.ts';
import { readCredentials, type StoredToken, writeCredentials } from './credentials.ts';
import { Failure } from './failures.ts';
import { pair } from './login/pair.ts';
import { note } from './print.ts';
import { findAddress } from './service.ts';
import { Session } from './session.ts';
import { printIdentity } from './whoami.ts';

export const login = command({
  name: 'login',
  description:
    'Signs in: you confirm in the console, and this machine gets a token of yours for 30 days.',
  args: {
    'no-browser': {
      type: 'boolean',
      description: 'Only print the address, and do not open the browser',
    },
  },
  notes: [
    'The browser must run on this machine, because the console sends it back to 127.0.0.1. The token is stored in ' +
      '~/.config/countersign/credentials.json, which only you can read, and is revoked by `countersign logout`. The token ' +
      'of a service is used without --url until you sign in to another one.',
  ],
  examples: ['countersign login --url https://countersign.example.com'],
  async run({ args, session }) {
    const { io } = session;
    const baseUrl = findAddress(io, args.url);
    refuseOpenNetwork(baseUrl);
    // Before the browser opens: a file that cannot be read would waste the confirmation.
    readCredentials(io);
    const client = new Countersign({ baseUrl, apiKey: '', fetch: io.fetch, clock: io.clock });
    await requireService(client);
    const { id, token, expires_at } = await pair(client, {
      name: `countersign on ${hostname()}`.slice(0, 100),
      onAddress: async (address) => {
        await note(session, `Confirm the sign-in in your browser:\n\n  ${address}\n\nWaiting …`);
        if (!args['no-browser']) io.openBrowser(address);
      },
    });
    const stored: StoredToken = { id, token, expires_at };
    // Read now: another sign-in may have ended while this one waited.
    const credentials = readCredentials(io);
    const previous = credentials.services[baseUrl];
    writeCredentials(io, {
      current: baseUrl,
      services: { ...credentials.services, [baseUrl]: stored },
    });
    await note(session, 'Signed in. If this is not you, sign out again: countersign logout\n');
    if (previous) await revoke(baseUrl, previous, io.fetch);
    const signedIn = new Session(
      { ...io, env: { ...io.env, COUNTERSIGN_API_KEY: undefined } },
      { ...args, url: baseUrl },
    );
    await printIdentity(signedIn, await signedIn.client.getOwnAccount());
  },
});

/**
 * Checks that the service answers, before the person confirms anything.
 * @throws Failure if something else answers
 * @throws ConnectionError if nothing does
 */
async function requireService(client: Countersign): Promise<void> {
  try {
    const { status } = await client.checkHealth();
    if (typeof status === 'string') return;
  } catch (error) {
    if (error instanceof ConnectionError && error.cause) throw error;
    // A service that is not well may still let people sign in.
    if (error instanceof ApiError && error.code !== 'unexpected_answer') return;
  }
  throw new Failure(
    `${client.baseUrl} is no Countersign: GET /healthz is not answered as by one. Check the address.`,
  );
}

/** @throws Failure for an address at which others on the network could read the token */
function refuseOpenNetwork(baseUrl: string): void {
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) return;
  throw new Failure(
    `${baseUrl} is not encrypted, so that others could read your token. Use https.`,
  );
}

/** Revokes the token that was replaced. One that cannot be revoked expires by itself. */
async function revoke(
  baseUrl: string,
  { id, token }: StoredToken,
  fetch: typeof globalThis.fetch,
): Promise<void> {
  await new Countersign({ baseUrl, apiKey: token, fetch }).deleteUserToken(id).catch(() => {});
}
