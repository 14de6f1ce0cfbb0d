import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CannotCheck, Fault, type Report } from './core/findings.ts';
import { describeFaults, describeReport, escapeControls, verdictOf } from './report-text.ts';
import { verifyFile } from './verify-file.ts';
import { openReceipt, verifyReceipt } from './verify-receipt.ts';
import { verifyService } from './verify-service.ts';
import { verifyWithoutProof } from './verify-without-proof.ts';

const HELP = `Verifies the audit log against its signed tree heads. Shares no code with the service.

  npm run verify -- <receipt file> [--key <key>] [--checkpoints <path>] [--passkeys <file>] [--witnesses <file>]
  npm run verify -- <export file> --proof <proof file> [--key <key>] [--checkpoints <path>] [--passkeys <file>]
  npm run verify -- <entry file> --proof <proof file> [--key <key>] [--checkpoints <path>] [--passkeys <file>]
  npm run verify -- <URL of the service> [--token <user token>] [--key <key>] [--checkpoints <path>] [--passkeys <file>]
  npm run verify -- <export file> --passkeys <file>

The first form checks the receipt of a permission (GET /v1/permissions/:id/receipt), and says what was asked, decided and
used. The second checks an export with details (JSON or Parquet) and its proof (proof_url). The third checks one entry
(GET /v1/audit/:id) and its proof (GET /v1/audit/:id/proof). The fourth exports the whole log, checks the export, and
compares the log with the kept checkpoints; it needs a token with account:read, audit:read and audit:export. The fifth
checks only the signatures of votes in an export with details (JSON, CSV or Parquet).

  --proof        the proof of the file
  --key          the public key of the log: a verifier key (<name>+<id>+<base64>), a file with one or with a JWK set, or
                 the URL of a JWK set. By default the keys are fetched from the host in the name of the log
  --checkpoints  the checkpoints that you kept: a file with one answer of GET /v1/audit/checkpoint per line, or a folder
                 of notes named by size. The fourth form adds the newest checkpoint, and creates the file if necessary
  --passkeys     the passkeys of members that you pinned, as JSON: {"origin": "https://…", "members": {"member_…": […]}},
                 where each list has the form of "passkeys" in GET /v1/members/:id
  --witnesses    the witnesses that you trust, as a policy of https://c2sp.org/tlog-policy; for receipts
  --token        the user token; the variable COUNTERSIGN_TOKEN keeps it out of the shell history
  --json         print the result as JSON, for programs (npm run --silent verify -- …)
  --help         print this help

Exit codes: 0 proven, 1 wrong, 2 not checked.
For a log that the service itself refuses: 1 if it is proven wrong by what it shows or by a kept checkpoint, else 2.
`;

const options = {
  proof: { type: 'string' },
  key: { type: 'string' },
  checkpoints: { type: 'string' },
  passkeys: { type: 'string' },
  witnesses: { type: 'string' },
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
  if (subject === undefined || more.length > 0)
    throw new CannotCheck(`Give one file, or the URL of the service.\n\n${HELP}`);
  const key = values.key && isLocalFile(values.key) ? resolveFromCaller(values.key) : values.key;
  const checkpoints = values.checkpoints && resolveFromCaller(values.checkpoints);
  const passkeys = values.passkeys && resolveFromCaller(values.passkeys);
  if (isUrl(subject)) {
    if (values.proof)
      throw new CannotCheck(
        '--proof is for files only; the proof of a whole log is fetched from the service',
      );
    const token = values.token ?? process.env.COUNTERSIGN_TOKEN;
    if (!token) throw new CannotCheck('Set COUNTERSIGN_TOKEN, or give --token');
    return await verifyService({
      url: subject,
      token,
      key,
      checkpoints,
      passkeys,
      onProgress: (progress) => console.error(escapeControls(progress)),
    });
  }
  const file = resolveFromCaller(subject);
  if (values.proof) {
    return await verifyFile({
      file,
      proof: resolveFromCaller(values.proof),
      key,
      checkpoints,
      passkeys,
    });
  }
  const receipt = await openReceipt(file);
  const witnesses = values.witnesses && resolveFromCaller(values.witnesses);
  if (receipt)
    return await verifyReceipt({ value: receipt, key, checkpoints, passkeys, witnesses });
  if (witnesses) throw new CannotCheck('--witnesses is for receipts');
  if (!passkeys)
    throw new CannotCheck(
      `${file} is not a receipt. Give the proof of an export or of an entry with --proof`,
    );
  if (key || checkpoints)
    throw new CannotCheck(
      '--key and --checkpoints need the proof of the file: give it with --proof',
    );
  return await verifyWithoutProof({ file, passkeys });
}

function isUrl(text: string): boolean {
  return /^https?:\/\//.test(text);
}

/**
 * Whether a key is given as a file: neither as a URL nor as a verifier key, `<name>+<8 hexadecimal
 * characters>+<base64>`.
 */
function isLocalFile(key: string): boolean {
  return !isUrl(key) && !/\+[0-9a-f]{8}\+/.test(key);
}

/**
 * Resolves a path from the folder in which npm was called. npm runs scripts in the folder of the
 * package.
 */
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
    console.log(
      json
        ? JSON.stringify({ verdict: verdictOf(report), ...report }, null, 2)
        : describeReport(report),
    );
    return { proven: 0, wrong: 1, unchecked: 2 }[verdictOf(report)];
  } catch (error) {
    const verdict = error instanceof Fault ? 'wrong' : 'unchecked';
    const message =
      error instanceof CannotCheck || error instanceof Fault
        ? error.message
        : String((error as Error).stack);
    const faults = error instanceof Fault ? [error] : [];
    if (json)
      console.log(
        JSON.stringify({ verdict, faults, unchecked: faults.length > 0 ? [] : [message] }, null, 2),
      );
    else
      console.error(
        error instanceof Fault ? describeFaults([error]) : `Not checked: ${escapeLines(message)}`,
      );
    return error instanceof Fault ? 1 : 2;
  }
}

function escapeLines(message: string): string {
  return message.split('\n').map(escapeControls).join('\n');
}

process.exitCode = await run();
