import { CannotCheck, Fault, type Report } from '../../verify/core/findings.ts';
import { describeFaults, describeReport, verdictOf } from '../../verify/report-text.ts';
import { openReceipt, verifyReceipt } from '../../verify/verify-receipt.ts';
import { command } from './command.ts';
import { EXIT } from './exit-codes.ts';
import { Failure } from './failures.ts';
import { printRecord } from './print.ts';

export const verify = command({
  name: 'verify',
  description: 'Checks a receipt, and says what was asked, decided and used. Needs no service.',
  args: {
    file: { type: 'positional', description: 'The receipt, from `countersign receipt`' },
    key: {
      type: 'string',
      description: 'The public keys that you kept; without it they are fetched from the service',
      valueHint: 'jwks.json',
    },
    passkeys: {
      type: 'string',
      description: 'The passkeys of members that you pinned, for signed decisions',
      valueHint: 'keys.json',
    },
    checkpoints: {
      type: 'string',
      description: 'The checkpoints of the log that you kept',
      valueHint: 'kept.jsonl',
    },
    witnesses: {
      type: 'string',
      description: 'The witnesses that you trust, as a policy of c2sp.org/tlog-policy',
      valueHint: 'policy',
    },
  },
  notes: [
    'Keys that the service shows prove nothing against the service: keep /.well-known/jwks.json, and give it with --key. ' +
      'The guide "Verifying" says what the files hold. Exit codes: 0 proven, 1 not proven.',
  ],
  examples: [
    'countersign verify receipt.json --key jwks.json',
    'countersign verify receipt.json --key jwks.json --passkeys keys.json',
  ],
  async run({ args, session }) {
    const { file, key, passkeys, checkpoints, witnesses } = args;
    const report = await findings(async () => {
      const value = await openReceipt(file);
      if (!value) throw new CannotCheck(`${file} is not a receipt`);
      return await verifyReceipt({ value, key, passkeys, checkpoints, witnesses });
    });
    const result = { verdict: verdictOf(report), ...report };
    await printRecord(session, result, () => [
      'log' in report ? describeReport(report) : describeFaults(report.faults),
    ]);
    return result.verdict === 'proven' ? EXIT.done : EXIT.failed;
  },
});

/** The report of a check; of one that a fault ended, only the fault. */
async function findings(
  check: () => Promise<Report>,
): Promise<Report | Pick<Report, 'faults' | 'unchecked'>> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof Fault) return { faults: [error], unchecked: [] };
    if (error instanceof CannotCheck) throw new Failure(`${error.message}.`);
    throw error;
  }
}
