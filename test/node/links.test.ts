import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../src/tools/project';

const FOLDERS = ['.github', 'src/docs/guides'];

const documents = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`),
).filter((path) => path.endsWith('.md'));

it.each(['README.md', ...documents])(
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
