import { findAddressFault } from '../address.ts';
import { readCredentials } from './credentials.ts';
import { Failure, UsageError } from './failures.ts';
import type { Io } from './io.ts';

/** The service that a command uses, and the credential for it. */
export interface ServiceAccess {
  baseUrl: string;
  credential: string;
  /** Where the credential comes from. */
  source: 'COUNTERSIGN_API_KEY' | 'login';
  /** When a token that `login` stored expires. */
  expiresAt: string | null;
}

/**
 * Returns the address of a service without a slash at its end, as it is stored.
 * @throws UsageError for anything but a URL of http or https
 */
function normalizeAddress(address: string): string {
  const fault = findAddressFault(address);
  if (fault) throw new UsageError(`The address ${fault}`);
  return new URL(address).href.replace(/\/+$/, '');
}

/**
 * Finds the address of the service: `--url`, `COUNTERSIGN_URL`, or the last one that was signed in
 * to.
 * @throws Failure if none is known
 */
export function findAddress(io: Io, option: string | undefined): string {
  const address = option || io.env.COUNTERSIGN_URL || readCredentials(io).current;
  if (address) return normalizeAddress(address);
  throw new Failure(
    'No service is known. Sign in with `countersign login --url https://…`, or set COUNTERSIGN_URL and COUNTERSIGN_API_KEY.',
  );
}

/**
 * Finds the service and the credential for it. A credential is sent only to the service that it is
 * for: `COUNTERSIGN_API_KEY` to `COUNTERSIGN_URL` where both are set, a stored token to the service
 * that issued it.
 * @throws Failure if there is no credential, or it has expired
 */
export function findService(io: Io, option: string | undefined): ServiceAccess {
  const { COUNTERSIGN_URL: environmentUrl, COUNTERSIGN_API_KEY: key } = io.env;
  const baseUrl = findAddress(io, option);
  if (key && (!option || !environmentUrl || normalizeAddress(environmentUrl) === baseUrl)) {
    return { baseUrl, credential: key, source: 'COUNTERSIGN_API_KEY', expiresAt: null };
  }
  const { services } = readCredentials(io);
  const stored = services[baseUrl];
  const advice = `Run: countersign login --url ${baseUrl}`;
  if (!stored) throw new Failure(`You are not signed in to ${baseUrl}. ${advice}`);
  if (stored.expires_at && Date.parse(stored.expires_at) <= io.clock.now()) {
    throw new Failure(`Your sign-in to ${baseUrl} has expired. ${advice}`);
  }
  return { baseUrl, credential: stored.token, source: 'login', expiresAt: stored.expires_at };
}
