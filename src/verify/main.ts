import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CannotCheck, Fault, type Report } from './findings.ts';
import { describeFaults, describeReport, escapeControls } from './report-text.ts';
import { verifyFile } from './verify-file.ts';
import { verifyService } from './verify-service.ts';

const HELP = `Verifies the audit log against its signed tree heads, with code that shares nothing with the service.

  npm run verify -- <export file> --proof <proof file> [--key <key>] [--checkpoints <path>]
  npm run verify -- <entry file> --proof <proof file> [--key <key>] [--checkpoints <path>]
  npm run verify -- <address of the service> [--token <user token>] [--key <key>] [--checkpoints <path>]

The first checks an export with details, JSON or Parquet, and its proof (proof_url). The second checks one entry (GET
/v1/audit/:id) and its proof (GET /v1/audit/:id/proof). The third has everything exported, checks that, and compares the
log with the checkpoints that were kept; it needs a token with account:read, audit:read and audit:export.

  --proof        the proof that belongs to the file
  --key          the key that the log signs with: a verifier key (<name>+<id>+<base64>), a file of one or of a JWK set,
                 or the address of a JWK set. Without it the service is asked, under the address that the log bears
  --checkpoints  checkpoints that were kept: a file of answers of GET /v1/audit/checkpoint, one a line, or a folder of
                 notes named by size. The third form adds the newest to it, and begins the file where there is none
  --token        the user token; better in the variable COUNTERSIGN_TOKEN, which no shell history shows
  --json         the result as JSON, for programs (npm run --silent verify -- …)
  --help         this

Exit codes: 0 proven, 1 something is wrong, 2 it could not be checked.
A log that the service itself refuses is 1 where what it shows or what was kept proves it wrong, and 2 otherwise.
`;

const options = {
  proof: { type: 'string' },
  key: { type: 'string' },
  checkpoints: { type: 'string' },
  token: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

function readArguments() {
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    throw new CannotCheck(`${(error as Error).message}\n\n${HELP}`);
  }
}

type Values = ReturnType<typeof readArguments>['values'];

async function verify(subjects: string[], values: Values): Promise<Report> {
  const [subject, ...more] = subjects;
  if (subject === undefined || more.length > 0) throw new CannotCheck(`Name one file, or the service.\n\n${HELP}`);
  const key = values.key && isLocalFile(values.key) ? resolveFromCaller(values.key) : values.key;
  const checkpoints = values.checkpoints && resolveFromCaller(values.checkpoints);
  if (isAddress(subject)) {
    if (values.proof) throw new CannotCheck('--proof belongs to a file; the service is asked for its proof');
    const token = values.token ?? process.env.COUNTERSIGN_TOKEN;
    if (!token) throw new CannotCheck('Set COUNTERSIGN_TOKEN, or give --token');
    return await verifyService({
      address: subject,
      token,
      key,
      checkpoints,
      onProgress: (progress) => console.error(escapeControls(progress)),
    });
  }
  if (!values.proof) throw new CannotCheck('Give the proof of the file with --proof');
  return await verifyFile({
    file: resolveFromCaller(subject),
    proof: resolveFromCaller(values.proof),
    key,
    checkpoints,
  });
}

function isAddress(text: string): boolean {
  return /^https?:\/\//.test(text);
}

/** A verifier key has the form `<name>+<8 hexadecimal characters>+<base64>`. */
function isLocalFile(key: string): boolean {
  return !isAddress(key) && !/\+[0-9a-f]{8}\+/.test(key);
}

/** npm runs scripts in the folder of the package; names of files are meant from where it was called. */
function resolveFromCaller(path: string): string {
  return resolve(process.env.INIT_CWD ?? process.cwd(), path);
}

async function run(): Promise<number> {
  let json = process.argv.includes('--json');
  try {
    const { values, positionals } = readArguments();
    json = values.json;
    if (values.help) {
      console.log(HELP);
      return 0;
    }
    const report = await verify(positionals, values);
    console.log(json ? JSON.stringify({ verdict: verdictOf(report), ...report }, null, 2) : describeReport(report));
    return { proven: 0, wrong: 1, unchecked: 2 }[verdictOf(report)];
  } catch (error) {
    const verdict = error instanceof Fault ? 'wrong' : 'unchecked';
    const message =
      error instanceof CannotCheck || error instanceof Fault ? error.message : String((error as Error).stack);
    const faults = error instanceof Fault ? [error] : [];
    if (json) console.log(JSON.stringify({ verdict, faults, unchecked: faults.length > 0 ? [] : [message] }, null, 2));
    else console.error(error instanceof Fault ? describeFaults([error]) : `Not checked: ${escapeLines(message)}`);
    return error instanceof Fault ? 1 : 2;
  }
}

function escapeLines(message: string): string {
  return message.split('\n').map(escapeControls).join('\n');
}

function verdictOf({ faults, unchecked }: Report): 'proven' | 'wrong' | 'unchecked' {
  if (faults.length > 0) return 'wrong';
  return unchecked.length > 0 ? 'unchecked' : 'proven';
}

process.exitCode = await run();
