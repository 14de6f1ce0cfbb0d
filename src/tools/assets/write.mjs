import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/**
 * Writes a file unless it is there already: `wrangler dev` starts anew when one changes.
 * @param {string} path
 * @param {Uint8Array} content
 */
export function write(path, content) {
  if (!existsSync(path) || !readFileSync(path).equals(content)) writeFileSync(path, content);
}
