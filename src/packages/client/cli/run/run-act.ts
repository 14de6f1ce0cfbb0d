import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Limits } from '../../guard/act.ts';
import { EXIT, exitCodeOf, startFailureCode } from '../exit-codes.ts';
import { Failure } from '../failures.ts';
import type { Io } from '../io.ts';
import { withoutCredentials } from '../without-credentials.ts';
import { type BoundFiles, findChangedFile } from './bound-files.ts';
import type { Interruption } from './interruption.ts';

/** The input of a guarded command: what people see and approve. */
export interface CommandInput extends BoundFiles {
  command: string;
  args: string[];
  cwd: string;
}

/**
 * Checks that the files of an approved command are those that were approved.
 * @throws Failure if one has changed
 */
export async function requireUnchanged(input: CommandInput): Promise<void> {
  const changed = await findChangedFile(input, input.cwd);
  if (changed === null) return;
  throw new Failure(
    `${changed} has changed since the request was made. The approval is used up: run it again to ask again.`,
  );
}

/** The command ran and ended with an exit code other than 0. */
export class CommandFailed extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`The command ended with the exit code ${exitCode}.`);
    this.exitCode = exitCode;
  }
}

/**
 * Runs an approved command without a shell and without the agent's key, and resolves when it ends
 * with the exit code 0.
 * @param executable the file that was found for the command; null lets the system find it
 * @throws CommandFailed with its exit code; for one that a signal ended, 128 and the number of the
 *   signal
 * @throws Failure if it could not be started
 */
export function runAct(
  { command, args, cwd }: CommandInput,
  executable: string | null,
  granted: Limits,
  interruption: Interruption,
): Promise<void> {
  const env = {
    ...withoutCredentials(process.env),
    COUNTERSIGN_GRANTED_SCOPE: JSON.stringify(granted),
  };
  return new Promise((resolve, reject) => {
    const child = spawn(executable ?? command, args, {
      argv0: command,
      cwd,
      env,
      stdio: 'inherit',
    });
    child.once('spawn', () => interruption.attach(child));
    child.once('error', (error: NodeJS.ErrnoException) => {
      const message = `${command} could not be started (${error.code}).`;
      reject(new Failure(message, startFailureCode(error)));
    });
    child.once('exit', (code, signal) => {
      const exitCode = exitCodeOf(code, signal);
      if (exitCode === 0) resolve();
      else reject(new CommandFailed(exitCode));
    });
  });
}

/**
 * Finds the file that a command executes, before anything is asked.
 * @returns null on Windows, whose search has rules of its own
 * @throws Failure with the exit code of a shell
 */
export function findExecutable(
  command: string,
  { env, platform }: Pick<Io, 'env' | 'platform'>,
): string | null {
  if (platform === 'win32') return null;
  const files = placesOf(command, env.PATH ?? '').filter(isFile);
  if (files.length === 0) throw new Failure(`${command} was not found.`, EXIT.notFound);
  const found = files.find(isExecutable);
  if (found === undefined) throw new Failure(`${command} is not executable.`, EXIT.notExecutable);
  return found;
}

function placesOf(command: string, path: string): string[] {
  if (command.includes('/')) return [command];
  return path.split(delimiter).map((folder) => join(folder, command));
}

/** A place in a folder that cannot be read counts as none, as it does for a shell. */
function isFile(place: string): boolean {
  try {
    return statSync(place).isFile();
  } catch {
    return false;
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
