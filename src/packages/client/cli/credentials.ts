import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { Failure, systemCode } from './failures.ts';
import type { Io } from './io.ts';

/** A user token that `login` stored. */
export interface StoredToken {
  id: string;
  token: string;
  expires_at: string | null;
}

/** The signed-in services, by their address. */
export interface Credentials {
  /**
   * The address of the service that commands use without `--url`: the last one that was signed in
   * to.
   */
  current: string | null;
  services: Record<string, StoredToken>;
}

/**
 * The file of the stored tokens: in the folder for settings of the system (XDG Base Directory
 * Specification).
 */
export function credentialsFile({ env, platform }: Pick<Io, 'env' | 'platform'>): string {
  return join(settingsFolder({ env, platform }), 'countersign', 'credentials.json');
}

function settingsFolder({ env, platform }: Pick<Io, 'env' | 'platform'>): string {
  const { XDG_CONFIG_HOME: xdg, APPDATA: appData } = env;
  const home = env.HOME || homedir();
  if (platform === 'win32') return appData || join(home, 'AppData/Roaming');
  if (xdg && isAbsolute(xdg)) return xdg;
  return join(home, '.config');
}

/**
 * Reads the stored tokens; empty if there are none.
 * @throws Failure if other people can read the file, or it cannot be understood
 */
export function readCredentials(io: Pick<Io, 'env' | 'platform'>): Credentials {
  const file = credentialsFile(io);
  const text = readPrivateFile(file, io.platform);
  if (text === null) return { current: null, services: {} };
  try {
    const { current, services }: Credentials = JSON.parse(text);
    if (typeof services === 'object' && services !== null) return { current, services };
  } catch {
    // Reported below.
  }
  throw new Failure(
    `${file} cannot be understood. Delete it, and sign in again with \`countersign login\`.`,
  );
}

function readPrivateFile(file: string, platform: NodeJS.Platform): string | null {
  try {
    if (platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) {
      throw new Failure(`Other people can read ${file}. Run: chmod 600 '${file}'`);
    }
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Stores the tokens in a file that only the person can read. A crash leaves the old file or the new
 * one.
 */
export function writeCredentials(io: Pick<Io, 'env' | 'platform'>, credentials: Credentials): void {
  const file = credentialsFile(io);
  const folder = dirname(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // The mode above applies to new folders only.
  chmodSync(folder, 0o700);
  const draft = `${file}.${randomUUID()}`;
  try {
    writeFileSync(draft, `${JSON.stringify(credentials, null, 2)}\n`, {
      mode: 0o600,
      flag: 'wx',
      flush: true,
    });
    renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}
