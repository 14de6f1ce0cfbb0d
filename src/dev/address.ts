import { createServer } from 'node:net';
import { UserError } from './user-error.ts';

export const HOST = '127.0.0.1';
export const DEFAULT_PORT = 8787;

/**
 * The port of the local service: PORT, or 8787.
 * @throws UserError if PORT is not a port number
 */
export function readPort(): number {
  const text = process.env.PORT || String(DEFAULT_PORT);
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535) throw new UserError(`PORT=${text} is not a port number.`);
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
  const fault = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
    const probe = createServer();
    probe.once('error', resolve);
    probe.listen(port, HOST, () => probe.close(() => resolve(null)));
  });
  if (!fault) return;
  const reason = fault.code === 'EADDRINUSE' ? 'is in use' : `cannot be used (${fault.code})`;
  throw new UserError(`Port ${port} ${reason}. Free it, or choose another one: PORT=${port + 1} npm start`);
}
