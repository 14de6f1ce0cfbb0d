import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './project.ts';

interface ToolOptions {
  /** The project's folder by default. */
  cwd?: string;
  input?: string;
  /** Variables that override the environment. */
  env?: Record<string, string>;
}

/** Runs a program of node_modules to its end, and returns its exit code and its output. */
export function runTool(
  script: string,
  options: string[],
  { cwd = ROOT, input = '', env }: ToolOptions = {},
) {
  const program = join(ROOT, 'node_modules', script);
  return spawnSync(process.execPath, [program, ...options], {
    ...{ cwd, input, encoding: 'utf8' },
    env: { ...process.env, ...env },
  });
}
