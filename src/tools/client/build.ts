import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { ROOT } from '../project.ts';
import { runTool } from '../run-tool.ts';

const SOURCE = join(ROOT, 'src/packages/client');

/**
 * Builds the npm package in a folder: modules that share one copy of the core, their types, and the
 * files that are published as they are. The package includes what it imports, except the frameworks
 * of its adapters.
 */
export async function buildClient(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  await build({
    entryPoints: entryPoints(),
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    minifySyntax: true,
    // The comments are in the types too. Here they would be half of what a program loads.
    minifyWhitespace: true,
    lineLimit: 120,
    legalComments: 'none',
    mainFields: ['module', 'main'],
    conditions: ['worker', 'import'],
    chunkNames: 'chunks/[name]-[hash]',
    external: ['node:*', ...Object.keys(manifest().peerDependencies)],
  });
  writeTypes(folder);
  for (const name of ['package.json', 'README.md']) cpSync(join(SOURCE, name), join(folder, name));
}

/** The source of every module and command that package.json names. */
function entryPoints(): string[] {
  const { exports, bin } = manifest();
  const modules = Object.values(exports).flatMap((entry) =>
    typeof entry === 'string' ? [] : [entry.default],
  );
  return [...modules, ...Object.values(bin)].map((path) =>
    join(SOURCE, path.replace(/\.js$/, '.ts')),
  );
}

interface Manifest {
  exports: Record<string, string | { types: string; default: string }>;
  bin: Record<string, string>;
  peerDependencies: Record<string, string>;
}

function manifest(): Manifest {
  return JSON.parse(readFileSync(join(SOURCE, 'package.json'), 'utf8'));
}

function writeTypes(folder: string): void {
  const options = ['--noEmit', 'false', '--declaration', '--emitDeclarationOnly'];
  const { status, stdout } = runTool('typescript/bin/tsc', [
    '-p',
    join(SOURCE, 'tsconfig.types.json'),
    ...options,
    '--outDir',
    folder,
  ]);
  if (status !== 0) throw new Error(`The types of the client do not compile:\n${stdout}`);
  // The compiler rewrites the imports of programs only.
  for (const name of globSync('**/*.d.ts', { cwd: folder })) {
    const path = join(folder, name);
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replaceAll(/(from |import\()'(\.[^']*)\.ts'/g, "$1'$2.js'"),
    );
  }
}
