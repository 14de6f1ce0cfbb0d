import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { buildSync } from 'esbuild';
import { write } from './write.mjs';

/**
 * Makes the files that the pages of the console load: the script, the one that verifies audit
 * entries, the service worker and the manifest for notifications, the style sheet, and htmx with its
 * extension for pages with a Content-Security-Policy.
 * @param {string} root the project's folder
 * @param {string} assets the folder of the assets
 */
export function makeConsole(root, assets) {
  const target = join(assets, 'console/assets');
  mkdirSync(target, { recursive: true });
  const icon = join(root, 'src/docs/page/favicon.svg');
  write(join(target, basename(icon)), readFileSync(icon));
  write(join(target, 'console.js'), bundle(join(root, 'src/console/browser/main.ts')));
  write(join(target, 'verify.js'), bundle(join(root, 'src/console/browser/verify.ts'), 'esm'));
  const worker = join(root, 'src/console/push-worker');
  write(join(target, 'push-worker.js'), bundle(join(worker, 'main.ts')));
  const manifest = 'console.webmanifest';
  write(join(target, manifest), readFileSync(join(worker, manifest)));
  write(join(target, 'console.css'), bundle(join(root, 'src/console/styles/console.css')));
  const htmx = ['dist/htmx.min.js', 'dist/ext/hx-csp.min.js'];
  const parts = htmx.map((name) => readFileSync(join(root, 'node_modules/htmx.org', name), 'utf8'));
  write(join(target, 'htmx.js'), Buffer.from(withoutSourceMap(parts.join(';\n'))));
  const hashes = HASHED.map((name) => [name, hashOf(readFileSync(join(target, name)))]);
  write(
    join(assets, '../console-hashes.json'),
    Buffer.from(JSON.stringify(Object.fromEntries(hashes))),
  );
}

/** The files that a page names with the hash of their content, so that browsers keep them. */
const HASHED = ['console.css', 'console.js', 'htmx.js'];

/** @param {Uint8Array} content */
function hashOf(content) {
  return createHash('sha256').update(content).digest('base64url').slice(0, 12);
}

/**
 * @param {string} entry
 * @param {'iife' | 'esm'} format
 */
function bundle(entry, format = 'iife') {
  const { outputFiles } = buildSync({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format,
    target: 'es2022',
    legalComments: 'none',
    write: false,
  });
  return outputFiles[0]?.contents ?? new Uint8Array();
}

/** @param {string} script */
function withoutSourceMap(script) {
  return script.replaceAll(/\/\/# sourceMappingURL=.*/g, '');
}
