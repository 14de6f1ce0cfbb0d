import { Hono } from 'hono';
import * as z from 'zod';
import { sendAsset } from '../http/asset';
import type { AppEnv } from '../http/context';
import { noQuery } from '../http/input';
import { file, operation, redirect } from '../http/operation';

const PAGE_HEADERS = {
  // A page names the version of the files that it loads, so an outdated page must not be used.
  'Cache-Control': 'no-cache',
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // The style sheet contains its icons as data: URLs.
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
};

const FILE_HEADERS = { 'Cache-Control': 'public, max-age=31536000, immutable' };

/**
 * The pages for people: the API reference, in which operations can be tried, the guides, and the
 * files they load.
 */
export const documentationPages = new Hono<AppEnv>()
  .get(
    '/',
    operation({
      id: 'showHome',
      tag: 'Service',
      summary: 'Go to the console or the reference',
      description:
        'A browser, which accepts `text/html`, goes to the console; a program goes to the reference.',
      success: redirect(),
    }),
    noQuery(),
    (c) => {
      c.header('Vary', 'Accept');
      return c.redirect(c.req.header('Accept')?.includes('text/html') ? '/console' : '/docs');
    },
  )
  .get(
    '/docs/guides',
    operation({
      id: 'findGuides',
      tag: 'Service',
      summary: 'Go to the guides',
      success: redirect(),
    }),
    noQuery(),
    (c) => c.redirect('/docs/guides/'),
  )
  .get(
    '/docs/guides/',
    operation({
      id: 'listGuides',
      tag: 'Service',
      summary: 'List the guides',
      success: file('text/html'),
    }),
    noQuery(),
    (c) => sendAsset(c, new URL('/docs/guides.html', c.req.url), PAGE_HEADERS),
  )
  .get(
    '/docs/guides/:name',
    operation({
      id: 'showGuide',
      tag: 'Service',
      summary: 'Read a guide',
      path: () => z.object({ name: z.string().meta({ examples: ['api'] }) }),
      success: file('text/html'),
      problems: ['not_found'],
    }),
    noQuery(),
    (c) => sendAsset(c, new URL(`${c.req.path}.html`, c.req.url), PAGE_HEADERS),
  )
  .get(
    '/docs',
    operation({
      id: 'showReference',
      tag: 'Service',
      summary: 'Read this reference',
      success: file('text/html'),
    }),
    noQuery(),
    (c) => sendAsset(c, new URL('/docs/index.html', c.req.url), PAGE_HEADERS),
  )
  .get(
    '/docs/:version/:file',
    operation({
      id: 'getReferenceFile',
      tag: 'Service',
      summary: 'Get a file that the reference loads',
      path: () => z.object({ version: z.string(), file: z.string() }),
      success: file('*/*'),
      problems: ['not_found'],
    }),
    noQuery(),
    (c) => sendAsset(c, new URL(c.req.url), FILE_HEADERS),
  );
