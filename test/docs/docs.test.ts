import { expect, it } from 'vitest';
import { World } from '../support/world';

const TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The page /docs and the paths of the files that it loads. */
async function readPage(world = new World()) {
  const { text, headers } = await world.must(200, 'GET', '/docs');
  const files = [...text.matchAll(/<(?:link|script)\b[^>]*\b(?:href|src)="([^"]*)"/g)].map(
    ([, path = '']) => path,
  );
  return { text, headers, files };
}

it.each([
  ['a browser', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', '/console'],
  ['curl', '*/*', '/docs'],
  ['a program', 'application/json', '/docs'],
])('the root leads %s, which accepts %s, to %s', async (_, accept, path) => {
  const { headers } = await new World().must(302, 'GET', '/', { headers: { Accept: accept } });
  expect([headers.get('Location'), headers.get('Vary')]).toEqual([path, 'Accept']);
});

it('the root leads who does not say what they accept to the reference', async () => {
  const { headers } = await new World().must(302, 'GET', '/');
  expect(headers.get('Location')).toBe('/docs');
});

it('the reference is an HTML page', async () => {
  const { text, headers, files } = await readPage();
  expect(headers.get('Content-Type')).toBe('text/html; charset=utf-8');
  expect(headers.get('X-Content-Type-Options')).toBe('nosniff');
  expect(headers.get('X-Request-Id')).toMatch(/^req_/);
  expect(text).toMatch(/^<!doctype html>\n<html lang="en">/);
  expect(text).toMatch(/<title>.+<\/title>/);
  expect(text).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">');
  expect(files.map((file) => file.split('/').at(-1))).toEqual([
    'favicon.svg',
    'swagger-ui.css',
    'page.css',
    'swagger-ui-bundle.js',
    'page.js',
  ]);
});

it('the reference can only load from and connect to the service, and cannot be framed', async () => {
  const { text, headers } = await readPage();
  const policy = headers.get('Content-Security-Policy')?.split('; ');
  expect(policy?.toSorted()).toEqual([
    "base-uri 'none'",
    "connect-src 'self'",
    "default-src 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "img-src 'self' data:",
    "script-src 'self'",
    "style-src 'self'",
  ]);
  expect(headers.get('Referrer-Policy')).toBe('no-referrer');
  expect(text).not.toMatch(/<style|<base|<iframe|\sstyle=|\son\w+=|javascript:/i);
  for (const [, inside] of text.matchAll(/<script\b[^>]*>([^<]*)/g)) expect(inside).toBe('');
});

it('every file of the reference is served with an immutable cache', async () => {
  const world = new World();
  const { files } = await readPage(world);
  for (const file of files) {
    const { text, headers } = await world.must(200, 'GET', file);
    expect([file, headers.get('Content-Type')]).toEqual([
      file,
      TYPES[file.split('.').at(-1) ?? ''],
    ]);
    expect(headers.get('Cache-Control')).toBe('public, max-age=31536000, immutable');
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(headers.get('X-Request-Id')).toMatch(/^req_/);
    expect(text).not.toBe('');
  }
});

it('the licences of the library are served, but none of its other files', async () => {
  const world = new World();
  const [library = ''] = (await readPage(world)).files.filter((file) =>
    file.endsWith('/swagger-ui-bundle.js'),
  );
  const { text, headers } = await world.must(200, 'GET', `${library}.LICENSE.txt`);
  expect([headers.get('Content-Type'), text]).toEqual([
    'text/plain; charset=utf-8',
    expect.stringContaining('@license'),
  ]);
  for (const other of ['swagger-ui-bundle.js.map', 'swagger-ui.js', 'index.html', 'package.json']) {
    await world.must(404, 'GET', library.replace('swagger-ui-bundle.js', other));
  }
});

it('the page, its styles and its own script name no other host', async () => {
  const world = new World();
  const { text, files } = await readPage(world);
  const own = files.filter((file) => !file.endsWith('/swagger-ui-bundle.js'));
  const texts = [
    text,
    ...(await Promise.all(own.map(async (file) => (await world.must(200, 'GET', file)).text))),
  ];
  for (const content of texts) {
    const addresses = [...content.matchAll(/(?:\w+:)?\/\/[\w.-]+\.[a-z]{2,}|@import/gi)].map(
      ([address]) => address,
    );
    expect(addresses.filter((address) => address !== 'http://www.w3.org')).toEqual([]);
  }
});

it('an unchanged file is answered 304', async () => {
  const world = new World();
  const { headers, files } = await readPage(world);
  expect(headers.get('Cache-Control')).toBe('no-cache');
  for (const path of ['/docs', ...files]) {
    const ETag = (await world.must(200, 'GET', path)).headers.get('ETag') ?? '';
    for (const known of [ETag, `W/${ETag}`]) {
      const answer = await world.must(304, 'GET', path, { headers: { 'If-None-Match': known } });
      expect([answer.text, answer.headers.get('ETag')]).toEqual(['', ETag]);
    }
    await world.must(200, 'GET', path, { headers: { 'If-None-Match': '"another"' } });
  }
});

it('HEAD is answered like GET, without the body', async () => {
  const world = new World();
  const { files } = await readPage(world);
  for (const path of ['/docs', ...files]) {
    const [got, head] = [await world.must(200, 'GET', path), await world.must(200, 'HEAD', path)];
    expect(head.text).toBe('');
    for (const name of ['Content-Type', 'Cache-Control', 'ETag', 'Content-Security-Policy']) {
      expect(head.headers.get(name)).toBe(got.headers.get(name));
    }
  }
});

it('other methods are answered 405', async () => {
  const world = new World();
  const { files } = await readPage(world);
  for (const path of ['/', '/docs', ...files]) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const { status, headers } = await world.call(method, path);
      expect([method, path, status, headers.get('Allow')]).toEqual([
        method,
        path,
        405,
        'GET, HEAD',
      ]);
    }
  }
});

it.each([
  ...[
    '/docs/',
    '/docs/x',
    '/docs/x/y',
    '/docs/index.html',
    '/index.html',
    '/docs.html',
    '/swagger-ui.css',
  ],
  ...[
    '/docs/FOLDER',
    '/docs/FOLDER/',
    '/docs/FOLDER/x.js',
    '/docs/FOLDER/PAGE.js',
    '/docs/FOLDER/page.js/',
  ],
  ...[
    '/docs/FOLDER/..%2findex.html',
    '/docs/FOLDER/..%2f..%2f..%2fwrangler.toml',
    '/docs/..%2f..%2f/package.json',
  ],
  ...[
    '/docs/FOLDER/..%5c..%5cpackage.json',
    '/docs/%2e%2e/wrangler.toml',
    '/docs/FOLDER/../../../.dev.vars',
  ],
  ...[
    '/docs//etc/passwd',
    '/docs/FOLDER/%00',
    '/docs/FOLDER/%ff',
    '/docs/FOLDER/page%2ejs',
    '/docs/FOLDER/page.js%00',
    '/docs/FOLDER/page.js%20',
    '/docs/%2F/%2F',
  ],
])('%s is answered 404', async (path) => {
  const world = new World();
  const folder = (await readPage(world)).files[0]?.split('/')[2] ?? '';
  const { status, body, headers } = await world.call('GET', path.replace('FOLDER', folder));
  expect([status, body?.code]).toEqual([404, 'not_found']);
  expect(headers.get('Content-Type')).toBe('application/problem+json');
  expect(headers.get('Cache-Control')).toBe('no-store');
  expect(headers.get('Location')).toBeNull();
});
