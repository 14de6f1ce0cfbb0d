import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { write } from './write.mjs';

/**
 * Makes the reference at /docs: the page of src/docs/page and the library that it loads.
 * @param {string} root the project's folder
 * @param {string} assets the folder of the assets
 * @returns {string} the path at which the service serves the files that pages load
 */
export function makeDocs(root, assets) {
  const page = join(root, 'src/docs/page');
  const library = join(root, 'node_modules/swagger-ui-dist');
  const target = join(assets, 'docs');

  // The licences are those that the library's first line refers to.
  const files = [
    ...['swagger-ui-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt', 'swagger-ui.css'].map((name) =>
      join(library, name),
    ),
    ...['favicon.svg', 'guides.css', 'page.css', 'page.js'].map((name) => join(page, name)),
  ].map((path) => ({ name: basename(path), content: readFileSync(path) }));

  // Files may be cached for ever, as the name of their folder changes with what is in them.
  const hash = createHash('sha256');
  for (const { name, content } of files) hash.update(`${name} ${content.length}\n`).update(content);
  const version = hash.digest('hex').slice(0, 16);

  mkdirSync(join(target, version), { recursive: true });
  for (const { name, content } of files) write(join(target, version, name), content);
  const folder = `/docs/${version}`;
  const html = readFileSync(join(page, 'index.html'), 'utf8').replaceAll('%FOLDER%', folder);
  write(join(target, 'index.html'), Buffer.from(html));
  for (const name of readdirSync(target)) {
    if (!['guides', 'guides.html', 'index.html', version].includes(name))
      rmSync(join(target, name), { recursive: true });
  }
  return folder;
}
