import { writeFileSync } from 'node:fs';
import { ApiError, messageOf } from '../errors.ts';
import type { Limits } from '../guard/act.ts';
import {
  AccountStopped,
  GrantNarrowed,
  GuardError,
  PermissionDenied,
  PermissionExpired,
  PermissionLapsed,
  PermissionPending,
} from '../guard/errors.ts';
import type { AskedRequest } from '../guard/guard.ts';
import { present } from '../present.ts';
import { command } from './command.ts';
import { EXIT, SIGNAL_BASE } from './exit-codes.ts';
import { explain, type OptionNames, UsageError } from './failures.ts';
import { hideKey } from './hide-key.ts';
import { note } from './print.ts';
import { bindFiles } from './run/bound-files.ts';
import { Interruption } from './run/interruption.ts';
import {
  CommandFailed,
  type CommandInput,
  findExecutable,
  requireUnchanged,
  runAct,
} from './run/run-act.ts';
import type { Session } from './session.ts';
import { readDuration, readGiven, readJsonObject } from './values.ts';

export const run = command({
  name: 'run',
  description:
    'Runs a command only after it was approved, once, and with exactly the arguments that were approved.',
  args: {
    action: {
      type: 'string',
      description: 'What is done',
      valueHint: 'site.deploy',
      isRequired: true,
    },
    resource: {
      type: 'string',
      description: 'What it is done to',
      valueHint: 'site:www',
      isRequired: true,
    },
    scope: { type: 'string', description: 'The limits that are asked for', valueHint: 'JSON' },
    reason: { type: 'string', description: 'Why, for the person who decides', valueHint: 'text' },
    wait: {
      type: 'string',
      description: 'The longest wait; by default as long as the request lives',
      valueHint: '30m',
    },
    'expires-in': {
      type: 'string',
      description: 'How long people can decide; one hour by default',
      valueHint: '1h',
    },
    'external-id': {
      type: 'string',
      description: 'Your name for this run: the same one finds the same request again',
    },
    'accept-narrowed': {
      type: 'boolean',
      description: 'Run also within narrower limits than asked for',
    },
    report: {
      type: 'string',
      description: 'Write what happened to a file, as JSON',
      valueHint: 'file',
    },
  },
  hasRest: true,
  notes: [
    'The request shows people the command, its arguments and its folder, with the digests of the executable and of the ' +
      'files that are arguments. If one of them changes before the command runs, it does not run. Not bound are the ' +
      'environment, stdin, folders, and files that the command reads by itself.',
    'COUNTERSIGN_API_KEY is the key of the agent that asks. The command does not get it, and on Linux it is also ' +
      'removed from what /proc shows of this program. It stays in the environment of the programs that started this ' +
      'one, such as the shell or npx, and on other systems in that of this one: a command that runs as the same user ' +
      'can read it there. The command reads the granted limits from COUNTERSIGN_GRANTED_SCOPE, as JSON. stdin, stdout, ' +
      'stderr and signals are passed to it.',
    'Exit codes: that of the command once it ran, or 128 and the number of the signal that ended it. Before it ran: 1 failed ' +
      '(not reachable, narrowed, used before, another input), 2 wrong usage, 3 denied, 4 expired, 5 still waiting, ' +
      '126 not executable, 127 not found, 130 or 143 interrupted. --report tells the two apart.',
  ],
  examples: [
    'countersign run --action site.deploy --resource site:www --reason "Release 4.2" -- ./deploy.sh www',
    'countersign run --action db.migrate --resource db:main --wait 30m --external-id "$CI_JOB_ID" -- npm run migrate',
  ],
  async run({ args, session, rest, optionNames }) {
    const [program, ...programArgs] = rest;
    if (program === undefined) throw new UsageError('Name the command after --.');
    const scope = readGiven(readJsonObject, args.scope, '--scope') ?? {};
    const waitSeconds = readGiven(readDuration, args.wait, 'wait');
    const wait = waitSeconds && waitSeconds * 1000;
    const expiresIn = readGiven(readDuration, args['expires-in'], 'expires-in');
    const externalId = args['external-id'];
    const report: Report = {
      outcome: 'failed',
      permission_id: null,
      external_id: externalId ?? null,
      exit_code: EXIT.failed,
    };
    // Written before anybody is asked: a file that cannot be written must not turn an act that ran
    // into a failure.
    if (args.report !== undefined) writeReport(args.report, report);
    try {
      const executable = findExecutable(program, session.io);
      const cwd = process.cwd();
      const bound = await bindFiles(executable, programArgs, cwd);
      const { client } = session;
      hideKey();
      const interruption = new Interruption();
      const noteRequest = (request?: AskedRequest) =>
        Object.assign(report, {
          permission_id: request?.permissionId,
          external_id: request?.externalId,
        });
      const guarded = client.guard(
        async (act: CommandInput, granted: Limits, request?: AskedRequest) => {
          noteRequest(request);
          // After the use is taken, so that as little time as possible is left for a change.
          await requireUnchanged(act);
          // A signal may have come while the use was taken.
          interruption.signal.throwIfAborted();
          report.outcome = 'ran';
          interruption.forward();
          await runAct(act, executable, granted, interruption);
        },
        {
          action: args.action,
          resource: args.resource,
          scope,
          ...present({ reason: args.reason, wait, expiresIn }),
          ...(args['accept-narrowed'] && { fits: () => true }),
          summary: (end) => ('error' in end ? messageOf(end.error) : undefined),
          // A later run with the same external id goes on with the request.
          abandoned: externalId === undefined ? 'withdraw' : 'keep',
          onPending: async (request) => {
            noteRequest(request);
            await note(session, `countersign: waiting for a decision: ${request.url}`);
          },
        },
      );
      const act = { command: program, args: programArgs, cwd, ...bound };
      try {
        await guarded(act, { ...present({ externalId }), signal: interruption.signal });
        report.exit_code = EXIT.done;
      } catch (error) {
        if (error instanceof CommandFailed) {
          report.exit_code = error.exitCode;
        } else if (interruption.signal.aborted && report.outcome !== 'ran') {
          report.outcome = 'interrupted';
          report.exit_code = SIGNAL_BASE + interruption.number;
        } else {
          throw error;
        }
      } finally {
        interruption.end();
      }
    } catch (error) {
      report.exit_code = await explainRefusal(error, session, report, optionNames);
    }
    if (args.report !== undefined) {
      try {
        writeReport(args.report, report);
      } catch (error) {
        await note(session, `countersign: the report was not written: ${messageOf(error)}`);
      }
    }
    return report.exit_code;
  },
});

/** The file that `--report` writes. */
interface Report {
  outcome: 'ran' | 'denied' | 'expired' | 'waiting' | 'stopped' | 'interrupted' | 'failed';
  permission_id: string | null;
  /** Finds the request again. */
  external_id: string | null;
  exit_code: number;
}

function writeReport(file: string, report: Report): void {
  writeFileSync(file, `${JSON.stringify(report)}\n`);
}

/** Tells why the command did not run, and returns the exit code. */
async function explainRefusal(
  error: unknown,
  session: Session,
  report: Report,
  optionNames: OptionNames,
): Promise<number> {
  if (error instanceof UsageError) throw error;
  if (error instanceof GuardError) {
    report.external_id = error.externalId;
    report.permission_id = error.permissionId;
  }
  const { lines, exitCode } = explain(error, optionNames);
  const [code, outcome] = codeOf(error, exitCode);
  let message = `${lines.join('\n')}${adviceFor(error)}`;
  if (report.outcome !== 'ran') {
    report.outcome = outcome;
    message = `not run: ${message}`;
  }
  await note(session, `countersign: ${message}`);
  return code;
}

function codeOf(error: unknown, otherwise: number): [code: number, outcome: Report['outcome']] {
  if (error instanceof PermissionDenied) return [EXIT.denied, 'denied'];
  if (error instanceof PermissionExpired || error instanceof PermissionLapsed)
    return [EXIT.expired, 'expired'];
  if (error instanceof PermissionPending) return [EXIT.waiting, 'waiting'];
  if (error instanceof AccountStopped) return [EXIT.stopped, 'stopped'];
  return [otherwise, 'failed'];
}

function adviceFor(error: unknown): string {
  if (error instanceof GrantNarrowed) return ' To run it within them, add --accept-narrowed.';
  if (error instanceof PermissionPending)
    return ` To go on, run it again with --external-id ${error.externalId}`;
  if (error instanceof ApiError && error.code === 'wrong_credential')
    return '\nrun asks as an agent: set COUNTERSIGN_API_KEY to the key of an agent.';
  return '';
}
