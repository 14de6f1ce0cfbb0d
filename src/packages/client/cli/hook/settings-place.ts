import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Io } from '../io.ts';
import type { CodingTool } from './tool.ts';

/** The file of a tool's hooks: of the person, or of the project in a folder. */
export function settingsFile(
  tool: CodingTool,
  project: string | null,
  { env }: Pick<Io, 'env'>,
): string {
  const home = project ?? (env.HOME || homedir());
  if (tool === 'claude-code') {
    const folder = project === null && env.CLAUDE_CONFIG_DIR;
    return join(folder || join(home, '.claude'), 'settings.json');
  }
  if (tool === 'codex') {
    const folder = project === null && env.CODEX_HOME;
    return join(folder || join(home, '.codex'), 'hooks.json');
  }
  return join(home, '.cursor', 'hooks.json');
}

/** Every file in which the hooks of a tool can be set or switched off. */
export function settingsPlaces(tool: CodingTool, cwd: string, io: Pick<Io, 'env'>): string[] {
  const files = [settingsFile(tool, null, io), settingsFile(tool, cwd, io)];
  const more = { 'claude-code': 'settings.local.json', codex: 'config.toml', cursor: null }[tool];
  if (more === null) return files;
  return [...files, ...files.map((file) => join(file, '..', more))];
}
