import { createHash, randomUUID } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Io } from '../io.ts';
import type { CodingTool } from './tool.ts';

/** How long a call may run until its outcome is of no use, in milliseconds. */
const MAX_AGE = 86_400_000;

/**
 * The calls whose use was taken and that have not ended: which permission each has, so that the
 * hook after the call can report its outcome.
 *
 * Each call has a file of its own with the id of a permission and no secret, so hooks that run at
 * once never meet. Its name is a digest: an event cannot name a file elsewhere. A file that is lost
 * leaves the outcome unknown, and lets nothing run.
 */
export class RunningCalls {
  readonly #folder: string;
  readonly #tool: CodingTool;

  constructor(tool: CodingTool, io: Pick<Io, 'env' | 'platform'>) {
    this.#tool = tool;
    this.#folder = join(stateFolder(io), 'countersign', 'hooks');
  }

  /** Remembers the permission of a call that runs now. */
  add(call: { session: string; callId: string }, permissionId: string): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.#removeOld();
    const file = this.#fileOf(call);
    const draft = `${file}.${randomUUID()}`;
    writeFileSync(draft, permissionId, { mode: 0o600, flag: 'wx' });
    renameSync(draft, file);
  }

  /** Returns the permission of a call that has ended, once; null if it had none. */
  take(call: { session: string; callId: string }): string | null {
    const taken = join(this.#folder, randomUUID());
    try {
      renameSync(this.#fileOf(call), taken);
      return readFileSync(taken, 'utf8');
    } catch {
      return null;
    } finally {
      rmSync(taken, { force: true });
    }
  }

  #fileOf({ session, callId }: { session: string; callId: string }): string {
    const name = JSON.stringify([this.#tool, session, callId]);
    return join(this.#folder, createHash('sha256').update(name).digest('hex'));
  }

  /** Removes the files of calls whose end was never told. */
  #removeOld(): void {
    for (const name of readdirSync(this.#folder)) {
      const file = join(this.#folder, name);
      const age = Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0);
      if (age > MAX_AGE) rmSync(file, { force: true });
    }
  }
}

/** The folder for state of the system (XDG Base Directory Specification). */
function stateFolder({ env, platform }: Pick<Io, 'env' | 'platform'>): string {
  const { XDG_STATE_HOME: xdg, LOCALAPPDATA: appData } = env;
  const home = env.HOME || homedir();
  if (platform === 'win32') return appData || join(home, 'AppData/Local');
  if (xdg && isAbsolute(xdg)) return xdg;
  return join(home, '.local/state');
}
