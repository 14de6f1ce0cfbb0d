import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findOutdated, generateClient } from './client/generate.ts';
import { readDocument } from './openapi/read-document.ts';
import { ROOT } from './project.ts';
import { runTool } from './run-tool.ts';

/** Runs a tool on the document. Returns its output if it fails, else an empty string. */
function findComplaint(script: string, options: string[], cwd: string): string {
  const env = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const { status, stdout, stderr } = runTool(script, options, { cwd, env });
  return status === 0 ? '' : `${stdout}${stderr}\n${script} rejected the OpenAPI document.`;
}

/**
 * Checks the document with a linter, and by compiling a client with the types generated from it.
 * Returns the first failure.
 */
function findFault(document: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
  try {
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(JSON.parse(document), null, 2));
    copyFileSync(join(import.meta.dirname, 'openapi/client.ts'), join(folder, 'client.ts'));
    const generate = ['openapi.json', '--output', 'api.ts', '--default-non-nullable', 'false'];
    const compile = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', 'client.ts'];
    return (
      findComplaint(
        '@redocly/cli/bin/cli.js',
        ['lint', 'openapi.json', '--config', join(ROOT, '.redocly.yaml')],
        folder,
      ) ||
      findComplaint('openapi-typescript/bin/cli.js', generate, folder) ||
      findComplaint('typescript/bin/tsc', compile, folder)
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Says what to do if the client was generated from another document; an empty text if it was not.
 */
function findOutdatedClient(document: string): string {
  const outdated = findOutdated(generateClient(document));
  return outdated.length
    ? `${outdated.join(' and ')} differ from the OpenAPI document: npm run generate-client`
    : '';
}

const document = await readDocument();
const fault = findFault(document) || findOutdatedClient(document);
if (fault) console.error(fault);
else
  console.log(
    'The OpenAPI document passes the linter, a client with its types compiles, and src/packages/client matches it.',
  );
process.exitCode = fault ? 1 : 0;
