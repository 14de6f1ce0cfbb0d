import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../project.ts';
import { runTool } from '../run-tool.ts';
import { type ApiDocument, type Schema, writeOperations } from './write-operations.ts';

/** The generated files of the client, by their path in the project. */
type GeneratedFiles = Record<string, string>;

/** Generates the client's types and methods from the OpenAPI document. */
export function generateClient(document: string): GeneratedFiles {
  const { schemas, methods } = writeOperations(JSON.parse(document) as ApiDocument);
  const folder = mkdtempSync(join(tmpdir(), 'client-'));
  try {
    return {
      'src/packages/client/api.ts': makeTypes(schemas, folder),
      'src/packages/client/operations.ts': format(methods, 'src/packages/client/operations.ts'),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the paths of the files that differ from what the document generates. */
export function findOutdated(files: GeneratedFiles): string[] {
  return Object.entries(files).flatMap(([path, text]) => (read(path) === text ? [] : [path]));
}

function makeTypes(schemas: Record<string, Schema>, folder: string): string {
  const info = { title: 'Countersign', version: '1' };
  writeFileSync(
    join(folder, 'schemas.json'),
    JSON.stringify({ openapi: '3.1.0', info, components: { schemas } }),
  );
  const options = [
    '--output',
    'api.ts',
    '--default-non-nullable',
    'false',
    '--root-types',
    '--root-types-no-schema-prefix',
  ];
  run('openapi-typescript/bin/cli.js', ['schemas.json', ...options], { cwd: folder });
  const text = readFileSync(join(folder, 'api.ts'), 'utf8');
  // The file declares empty types for paths, headers and operations, which nothing uses.
  const types = text
    .replace(/\/\*\*[\s\S]*?\*\/\n+/, '')
    .replace(
      /^export (type (paths|webhooks|\$defs|operations) = .+|interface \$defs \{\})\n/gm,
      '',
    );
  return format(
    `// Generated from the OpenAPI document by \`npm run generate-client\`. Do not edit.\n${types}`,
    'src/packages/client/api.ts',
  );
}

function format(text: string, path: string): string {
  return run('@biomejs/biome/bin/biome', ['check', '--write', `--stdin-file-path=${path}`], {
    input: text,
  });
}

/** Runs a program of node_modules and returns its output. */
function run(
  script: string,
  options: string[],
  settings: { cwd?: string; input?: string },
): string {
  const { status, stdout, stderr } = runTool(script, options, settings);
  if (status !== 0) throw new Error(`${script} failed: ${stdout}${stderr}`);
  return stdout;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(join(ROOT, path), 'utf8');
  } catch {
    return undefined;
  }
}
