import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

/** The settings in a file of lines such as `NAME="value"`; none if there is no such file. */
export function readSettings(file: string): Record<string, string | undefined> {
  return parseEnv(readText(file));
}

/**
 * Adds settings to such a file, which only its owner can read from then on. Makes the file if there
 * is none.
 */
export function addSettings(file: string, settings: Record<string, string>): void {
  const text = readText(file);
  const gap = text === '' || text.endsWith('\n') ? '' : '\n';
  const lines = Object.entries(settings).map(([name, value]) => `${name}="${value}"\n`);
  if (existsSync(file)) chmodSync(file, 0o600);
  // The mode applies to new files only.
  writeFileSync(file, text + gap + lines.join(''), { mode: 0o600, flush: true });
}

function readText(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}
