import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../src/tools/project';

const MAX_LENGTH = 100;

/** Files that programs write. */
const GENERATED = /generated|^packages\/client\/(api|operations)\.ts$/;

it(`no line of a comment is longer than ${MAX_LENGTH} characters, but for a URL or a table`, () => {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    (path) => /\.(tsx?|js)$/.test(path) && !GENERATED.test(path),
  );
  const long = files.flatMap((path) =>
    readFileSync(join(ROOT, 'src', path), 'utf8')
      .split('\n')
      .map((line, i) => ({ line, place: `${path}:${i + 1}` }))
      .filter(({ line }) => line.length > MAX_LENGTH && /^\s*(\/\*\*|\*|\/\/) /.test(line))
      .filter(({ line }) => !/https?:\/\/\S+$|^\s*\* \|/.test(line))
      .map(({ place }) => place),
  );
  expect(files.length).toBeGreaterThan(100);
  expect(long).toEqual([]);
});
