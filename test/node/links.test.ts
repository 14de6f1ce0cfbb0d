import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../src/dev/project';

const GUIDES = 'src/docs/guides';

it.each(['README.md', ...readdirSync(join(ROOT, GUIDES)).map((name) => `${GUIDES}/${name}`)])(
  'every relative link in %s points to a file that exists',
  (path) => {
    const links = [
      ...readFileSync(join(ROOT, path), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g),
    ];
    const missing = links.filter(
      ([, target = '']) => !existsSync(join(ROOT, dirname(path), target)),
    );
    expect(missing).toEqual([]);
  },
);
