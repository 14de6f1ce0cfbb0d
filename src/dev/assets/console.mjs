import { mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { write } from './write.mjs';

/**
 * Copies the files that the pages of the console load: the script, the style sheet, and the library for passkeys.
 * @param {string} root the project's folder
 * @param {string} assets the folder of the assets
 */
export function makeConsole(root, assets) {
  const target = join(assets, 'console/assets');
  mkdirSync(target, { recursive: true });
  const own = ['console.css', 'console.js'].map((name) => join(root, 'src/console/assets', name));
  for (const path of [...own, join(root, 'src/docs/page/favicon.svg')]) {
    write(join(target, basename(path)), readFileSync(path));
  }
  const library = join(root, 'node_modules/@simplewebauthn/browser/dist/bundle/index.umd.min.js');
  write(join(target, 'webauthn.js'), readFileSync(library));
}
