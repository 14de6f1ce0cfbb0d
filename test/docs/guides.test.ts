import { expect, it } from 'vitest';
import readme from '../../README.md?raw';
import { World } from '../support/world';

const INDEX = '/docs/guides/';

const world = new World();
const paths = [
  INDEX,
  ...linksOf((await world.must(200, 'GET', INDEX)).text).filter((path) =>
    /^\/docs\/guides\/./.test(path),
  ),
];
const pages = new Map<string, { text: string; headers: Headers }>();
for (const path of new Set(paths)) pages.set(path, await world.must(200, 'GET', path));
const reference = await world.must(200, 'GET', '/docs');

function linksOf(text: string): string[] {
  return [...text.matchAll(/\shref="([^"]*)"/g)].map(([, address = '']) => address);
}

it('the reference links to the list of guides, and its path without the slash redirects to it', async () => {
  expect(linksOf(reference.text)).toContain(INDEX);
  expect((await world.must(302, 'GET', '/docs/guides')).headers.get('Location')).toBe(INDEX);
});

it('the README links to exactly the guides that are served, and has at most 150 lines', () => {
  const named = [...readme.matchAll(/\]\(src\/docs\/guides\/([\w-]+)\.md\)/g)].map(
    ([, name]) => INDEX + name,
  );
  expect(named.toSorted()).toEqual([...pages.keys()].filter((path) => path !== INDEX).toSorted());
  expect(readme.split('\n').length).toBeLessThanOrEqual(150);
});

it.each([...pages])(
  '%s is an HTML page that loads no script, style or image of its own',
  (_, { text, headers }) => {
    expect(headers.get('Content-Type')).toBe('text/html; charset=utf-8');
    expect(text).toMatch(/^<!doctype html>\n<html lang="en">/);
    for (const name of [
      'Content-Security-Policy',
      'Cache-Control',
      'Referrer-Policy',
      'X-Content-Type-Options',
    ]) {
      expect([name, headers.get(name)]).toEqual([name, reference.headers.get(name)]);
    }
    expect(text).not.toMatch(
      /<script|<style|<base|<iframe|<img|\sstyle=|\son\w+=|javascript:|%[A-Z]+%/i,
    );
    expect(text.match(/<h1\b/g)).toHaveLength(1);
    expect(text).toMatch(/<title>[^<]+<\/title>/);
  },
);

it.each([...pages])(
  '%s lists all guides, marks the current one, and links to each of its sections',
  (path, { text }) => {
    const [, navigation = ''] = /<nav class="guides"[^>]*>(.*?)<\/nav>/s.exec(text) ?? [];
    expect(linksOf(navigation)).toEqual([...pages.keys()].filter((other) => other !== INDEX));
    const marked = [...navigation.matchAll(/href="([^"]*)" aria-current="page"/g)].map(
      ([, marked]) => marked,
    );
    expect(marked).toEqual(path === INDEX ? [] : [path]);

    const [, contents = ''] = /<nav class="contents"[^>]*>(.*?)<\/nav>/s.exec(text) ?? [];
    const [, body = ''] = /<div class="body">(.*)<\/main>/s.exec(text) ?? [];
    const sections = [...body.matchAll(/<h2 id="([^"]*)"/g)].map(([, id]) => `#${id}`);
    expect(linksOf(contents)).toEqual(sections);
    expect(sections.length).toBeGreaterThan(path === `${INDEX}glossary` ? -1 : 0);
  },
);

it.each([...pages])('every link in %s points to something that exists', async (path, { text }) => {
  for (const link of linksOf(text)) {
    const { origin, pathname, hash } = new URL(link, `https://guides.test${path}`);
    if (origin !== 'https://guides.test') {
      expect(link).toMatch(/^https:\/\//);
      continue;
    }
    const target = pages.get(pathname)?.text ?? (await world.must(200, 'GET', pathname)).text;
    if (hash) expect([link, target.includes(` id="${hash.slice(1)}"`)]).toEqual([link, true]);
  }
});

it.each([
  'api.html',
  'index',
  'index.html',
  'README',
  'nothing',
  'API',
  '..%2findex',
  '%2e%2e/index',
  'api/',
  'api%00',
])('the unknown guide %s is answered 404', async (name) => {
  const { status, body } = await world.call('GET', `${INDEX}${name}`);
  expect([status, body?.code]).toEqual([404, 'not_found']);
});
