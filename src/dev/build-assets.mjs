// Makes dist/assets, the files that the Worker serves as they are (`assets` in wrangler.toml): the reference at /docs.
// Wrangler runs it on whatever Node comes first in the PATH: plain JavaScript.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = join(root, 'src/docs/page');
const library = join(root, 'node_modules/swagger-ui-dist');
const target = join(root, 'dist/assets/docs');

/** What the page loads, and the licences that the library's first line refers to. */
const files = [
  ...['swagger-ui-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt', 'swagger-ui.css'].map((name) => join(library, name)),
  ...['favicon.svg', 'page.css', 'page.js'].map((name) => join(page, name)),
].map((path) => ({ name: basename(path), content: readFileSync(path) }));

/**
 * Writes a file unless it is there already: `wrangler dev` starts anew when one changes.
 * @param {string} path
 * @param {Buffer} content
 */
function write(path, content) {
  if (!existsSync(path) || !readFileSync(path).equals(content)) writeFileSync(path, content);
}

// Files may be cached for ever, as the name of their folder changes with what is in them.
const hash = createHash('sha256');
for (const { name, content } of files) hash.update(`${name} ${content.length}\n`).update(content);
const version = hash.digest('hex').slice(0, 16);

mkdirSync(join(target, version), { recursive: true });
for (const { name, content } of files) write(join(target, version, name), content);
const html = readFileSync(join(page, 'index.html'), 'utf8').replaceAll('%FOLDER%', `/docs/${version}`);
write(join(target, 'index.html'), Buffer.from(html));
for (const name of readdirSync(target)) {
  if (name !== version && name !== 'index.html') rmSync(join(target, name), { recursive: true });
}
