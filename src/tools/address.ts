import { createServer } from 'node:net';
import { UserError } from './user-error.ts';

/**
 * A name, because a passkey cannot belong to an IP address. The service listens on its IPv4 and its
 * IPv6 address.
 */
export const HOST = 'localhost';
const ADDRESSES = ['127.0.0.1', '::1'];
export const DEFAULT_PORT = 8787;

/**
 * The port of the local service: PORT, or 8787.
 * @throws UserError if PORT is not a port number
 */
export function readPort(): number {
  const text = process.env.PORT || String(DEFAULT_PORT);
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535)
    throw new UserError(`PORT=${text} is not a port number.`);
  return port;
}

/** The origin of the local service on a port. */
export function localOrigin(port: number): string {
  return `http://${HOST}:${port}`;
}

/**
 * Checks that a port of this machine is free.
 * @throws UserError if it is in use, or if the system refuses it
 */
export async function requireFreePort(port: number): Promise<void> {
  const faults = await Promise.all(ADDRESSES.map((address) => tryListening(port, address)));
  // A machine without IPv6 does not have the second address.
  const fault = faults.find(
    (fault) => fault !== null && !['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes(fault.code ?? ''),
  );
  if (!fault) return;
  const reason = fault.code === 'EADDRINUSE' ? 'is in use' : `cannot be used (${fault.code})`;
  throw new UserError(
    `Port ${port} ${reason}. Free it, or choose another one: PORT=${port + 1} npm start`,
  );
}

/** The error with which the system refuses to listen on a port; null if it does not. */
function tryListening(port: number, address: string): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', resolve);
    probe.listen(port, address, () => probe.close(() => resolve(null)));
  });
}
