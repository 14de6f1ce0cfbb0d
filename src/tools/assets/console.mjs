import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { buildSync } from 'esbuild';
import { write } from './write.mjs';

/**
 * Makes the files that the pages of the console load: the icons, the script, the one that verifies
 * audit entries, the service worker and the manifest for notifications, the style sheet, and htmx
 * with its extension for pages with a Content-Security-Policy.
 * @param {string} root the project's folder
 * @param {string} assets the folder of the assets
 */
export function makeConsole(root, assets) {
  const target = join(assets, 'console/assets');
  mkdirSync(target, { recursive: true });
  const icon = join(root, 'src/docs/page/favicon.svg');
  write(join(target, basename(icon)), readFileSync(icon));
  const icons = join(root, 'src/console/icons');
  for (const name of ICONS) write(join(target, name), readFileSync(join(icons, name)));
  write(join(target, 'console.js'), bundle(join(root, 'src/console/browser/main.ts')));
  write(join(target, 'verify.js'), bundle(join(root, 'src/console/browser/verify.ts'), 'esm'));
  const worker = join(root, 'src/console/push-worker');
  write(join(target, 'push-worker.js'), bundle(join(worker, 'main.ts')));
  write(join(target, 'console.css'), bundle(join(root, 'src/console/styles/console.css')));
  const htmx = ['dist/htmx.min.js', 'dist/ext/hx-csp.min.js'];
  const parts = htmx.map((name) => readFileSync(join(root, 'node_modules/htmx.org', name), 'utf8'));
  write(join(target, 'htmx.js'), Buffer.from(withoutSourceMap(parts.join(';\n'))));
  const hashes = HASHED.map((name) => [name, hashOf(readFileSync(join(target, name)))]);
  write(
    join(assets, '../console-hashes.json'),
    Buffer.from(JSON.stringify(Object.fromEntries(hashes))),
  );
  const manifest = 'console.webmanifest';
  const text = readFileSync(join(worker, manifest), 'utf8');
  write(join(target, manifest), Buffer.from(withHashes(text, hashes)));
}

/** The icon of the product for systems that take no SVG: the same drawing, up to the edge. */
const ICONS = ['icon-180.png', 'icon-192.png', 'icon-512.png'];

/** The files that a page names with the hash of their content, so that browsers keep them. */
const HASHED = ['console.css', 'console.js', 'htmx.js', ...ICONS];

/**
 * Names the files in a text with the hash of their content.
 * @param {string} text
 * @param {string[][]} hashes the files, each with its hash
 */
function withHashes(text, hashes) {
  return hashes.reduce(
    (named, [name = '', hash]) =>
      named.replaceAll(`/${name}`, `/${name.replace('.', `.${hash}.`)}`),
    text,
  );
}

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
