import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import type { Json, JsonObject } from '../../json.ts';
import { credentialsFile } from '../credentials.ts';
import type { Io } from '../io.ts';
import { settingsPlaces } from './settings-place.ts';
import type { CodingTool } from './tool.ts';

/** The files that guard an agent: the rules, the settings of its hooks, and the stored sign-in. */
export function findProtectedFiles(
  tool: CodingTool,
  rulesFile: string | undefined,
  cwd: string,
  io: Pick<Io, 'env' | 'platform'>,
): string[] {
  const files = [...settingsPlaces(tool, cwd, io), credentialsFile(io)];
  if (rulesFile !== undefined) files.push(resolve(rulesFile));
  return files.map(realPath);
}

/** Whether one of the names is a protected file, or the folder of a tool's settings. */
export function namesProtected(names: string[], cwd: string, protectedFiles: string[]): boolean {
  const folders = protectedFiles.map(dirname).filter((folder) => /^\.\w/.test(basename(folder)));
  const guarded = new Set([...protectedFiles, ...folders].map(fold));
  return names.some((name) => {
    // `--config=file` names a file too.
    const parts = [name, name.slice(name.indexOf('=') + 1)];
    return parts.some((part) => guarded.has(fold(realPath(resolve(cwd, part)))));
  });
}

/** The texts of a tool's arguments that may name a file, also in a patch. */
export function filesNamedIn(input: JsonObject): string[] {
  const texts = textsIn(input);
  const patched = texts.flatMap((text) =>
    [...text.matchAll(/^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm)].map(
      ([, file = '']) => file.trim(),
    ),
  );
  return [...texts.filter((text) => text.length < 4096), ...patched];
}

function textsIn(value: Json): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

/** Some file systems ignore upper and lower case. */
function fold(path: string): string {
  return path.toLowerCase();
}

/** Follows links, also where the file itself does not exist yet. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const folder = dirname(path);
    if (folder === path || !path.includes(sep) || path.includes('\0')) return path;
    return join(realPath(folder), basename(path));
  }
}
