import { expect, it } from 'vitest';
import { BackgroundWork } from '../support/background-work';
import { ORIGIN, World } from '../support/world';

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

it('an installed page has icons for systems that take no SVG, which are kept too', async () => {
  const world = new World();
  const { text } = await world.call('GET', '/console/sign-in');
  const [, touch = ''] = /rel="apple-touch-icon" href="([^"]+)"/.exec(text) ?? [];
  const answer = await world.call('GET', '/console/assets/console.webmanifest');
  const manifest = JSON.parse(answer.text);
  const [drawing, ...icons] = manifest.icons as { src: string; sizes: string; type: string }[];
  expect(drawing).toMatchObject({ sizes: 'any', type: 'image/svg+xml' });
  const images = [...icons, { src: touch, sizes: '180x180', type: 'image/png' }];
  expect(images.map(({ sizes }) => sizes)).toEqual(['192x192', '512x512', '180x180']);
  const { context } = new BackgroundWork();
  for (const { src, sizes, type } of images) {
    const file = await world.app.fetch(new Request(ORIGIN + src), world.env, context);
    const { headers } = file;
    expect([file.status, headers.get('Content-Type')]).toEqual([200, type]);
    expect(headers.get('Cache-Control')).toBe('public, max-age=31536000, immutable');
    const header = new DataView(await file.arrayBuffer());
    expect(`${header.getUint32(16)}x${header.getUint32(20)}`).toBe(sizes);
  }
});
