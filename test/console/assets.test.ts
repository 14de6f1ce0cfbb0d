import { expect, it } from 'vitest';
import { World } from '../support/world';

/** The files that the page for signing in loads. */
async function readFiles(world: World) {
  const { text } = await world.call('GET', '/console/sign-in');
  return [...text.matchAll(/(?:src|href)="(\/console\/assets\/console\.[^"]+)"/g)].map(
    ([, path = '']) => path,
  );
}

it('files whose names have the hash of their content are kept by browsers', async () => {
  const world = new World();
  const files = await readFiles(world);
  expect(files.map((path) => path.replace(/\.[\w-]{12}\./, '.'))).toEqual([
    '/console/assets/console.css',
    '/console/assets/console.js',
  ]);
  for (const path of files) {
    const file = await world.call('GET', path);
    expect(file.status).toBe(200);
    expect(file.headers.get('Cache-Control')).toBe('public, max-age=31536000, immutable');
    const hash = /\.([\w-]{12})\./.exec(path)?.[1] ?? '';
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(file.text));
    const found = btoa(String.fromCharCode(...new Uint8Array(digest)));
    expect(found.replaceAll('+', '-').replaceAll('/', '_').slice(0, 12)).toBe(hash);
  }
});

it('a file of another version is the one of this version, and is not kept', async () => {
  const world = new World();
  for (const path of await readFiles(world)) {
    const other = path.replace(/\.[\w-]{12}\./, '.AAAAAAAAAAAA.');
    const file = await world.call('GET', other);
    expect([file.status, file.headers.get('Cache-Control')]).toEqual([200, 'no-cache']);
    expect(file.text).toBe((await world.call('GET', path)).text);
  }
  const worker = await world.call('GET', '/console/assets/push-worker.js');
  expect([worker.status, worker.headers.get('Cache-Control')]).toEqual([200, 'no-cache']);
  for (const name of ['nothing.js', 'nothing.AAAAAAAAAAAA.js', 'verify.AAAAAAAAAAAA.js'])
    expect((await world.call('GET', `/console/assets/${name}`)).status).toBe(404);
});
