import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { messageOf } from '../../errors.ts';
import { findJsonLoss } from '../../exact-json.ts';
import type { JsonObject } from '../../json.ts';
import type { Treatment } from '../../rules/rules.ts';
import { type Command, command } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { UsageError } from '../failures.ts';
import { write } from '../io.ts';
import type { Session } from '../session.ts';
import { escapeText } from '../terminal/escape.ts';
import { readNumber } from '../values.ts';
import { decide } from './decide.ts';
import { HookRules } from './hook-rules.ts';
import { findProtectedFiles } from './protected-files.ts';
import { RunningCalls } from './running-calls.ts';
import {
  approvalFor,
  type CodingTool,
  denialFor,
  EventError,
  type HookCall,
  type HookEnd,
  NO_OPINION,
  readEvent,
} from './tool.ts';

/** How long before the tool's timeout the hook answers at the latest, in milliseconds. */
const MARGIN = 5_000;

/** How long before that it stops to wait for a person, in milliseconds. */
const LAST_ANSWER = 2_000;

/** How long one request to the service may take, in milliseconds. */
const REQUEST_TIMEOUT = 30_000;

/** The longest time that a report delays the tool, in milliseconds. */
const REPORT_TIMEOUT = 1_000;

/** The tool's timeout by default, in seconds: that of the settings that `hook install` writes. */
export const DEFAULT_TIMEOUT = 60;

interface Hook {
  tool: CodingTool;
  rulesFile: string | undefined;
  /** The time of the process, in milliseconds, by which the tool must have its answer. */
  deadline: number;
  session: Session;
}

/** Defines the command that a coding agent runs as its hook. */
export function makeHook(tool: CodingTool): Command {
  return command({
    name: `hook ${tool}`,
    description: `Answers a hook event of ${NAMES[tool]}: allow or deny, by rules and people.`,
    args: {
      rules: {
        type: 'string',
        description: 'JSON file of rules; without it every call asks',
        valueHint: 'file',
      },
      timeout: {
        type: 'string',
        description: "The tool's timeout for the hook, in seconds",
        default: String(DEFAULT_TIMEOUT),
        valueHint: 'seconds',
      },
    },
    notes: [
      `Reads the event from stdin. \`countersign hook install ${tool}\` sets it up. COUNTERSIGN_API_KEY is the key of the ` +
        'agent that asks.',
    ],
    examples: [`countersign hook ${tool} --rules rules.json < event.json`],
    async run({ args, session }) {
      const timeout = readNumber(args.timeout, 'timeout') * 1000;
      const deadline = timeout - Math.min(MARGIN, timeout / 2);
      const hook = { tool, rulesFile: args.rules, deadline, session };
      try {
        await write(session.io.stdout, `${JSON.stringify(await answer(hook))}\n`);
      } catch (error) {
        // The only code that every tool takes for a denial.
        await write(session.io.stderr, `countersign: ${escapeText(messageOf(error))}\n`);
        process.exit(EXIT.usage);
      }
      // The tool waits for the end of the process, and nothing else is left to wait for.
      process.exit(EXIT.done);
    },
  });
}

const NAMES: Record<CodingTool, string> = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
  cursor: 'Cursor',
};

async function answer(hook: Hook): Promise<JsonObject> {
  let tool = 'unknown';
  try {
    const source = await beforeDeadline(text(hook.session.io.stdin), hook);
    const event = readEvent(hook.tool, parseEvent(source));
    if (event.phase === 'after') return await reportEnd(event, hook);
    tool = event.tool;
    const loss = findJsonLoss(source);
    if (loss !== null) throw new EventError(`The event cannot be read as it is written. ${loss}`);
    return await beforeDeadline(answerCall(event, hook), hook);
  } catch (error) {
    return await denialBecause(error, tool, hook);
  }
}

function parseEvent(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch {
    throw new EventError('The event is not JSON.');
  }
}

async function answerCall(call: HookCall, hook: Hook): Promise<JsonObject> {
  const { tool, rulesFile, session } = hook;
  const { platform } = session.io;
  const rules = readRules(rulesFile);
  const protectedFiles = findProtectedFiles(tool, rulesFile, call.cwd, session.io);
  const treatment = await decide(call, rules, { tool, platform, protectedFiles });
  if (treatment === 'allow') return NO_OPINION;
  if (treatment === 'deny') {
    throw new Error('The rules deny it. Do not try again or in another way, and tell your user.');
  }
  return await askPeople(call, treatment, rules.wait, hook);
}

/** @throws UsageError for rules that cannot be read */
export function readRules(file: string | undefined): HookRules {
  if (file === undefined) return new HookRules('{}');
  try {
    return new HookRules(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UsageError(`${file}: ${messageOf(error)}`);
  }
}

async function askPeople(
  call: HookCall,
  options: Exclude<Treatment, string>,
  wait: number,
  hook: Hook,
): Promise<JsonObject> {
  const { tool, session, deadline } = hook;
  const { baseUrl, credential } = session.access;
  if (!credential.startsWith('csa_')) {
    throw new Error('The hook asks as an agent: set COUNTERSIGN_API_KEY to its key (csa_…).');
  }
  const [{ Countersign }, { askForCall }] = await Promise.all([
    import('../../countersign.ts'),
    import('./ask.ts'),
  ]);
  const client = new Countersign({ baseUrl, apiKey: credential, timeout: REQUEST_TIMEOUT });
  const left = Math.max(0, Math.floor(deadline - performance.now()));
  const use = await askForCall(call, {
    tool,
    client,
    options,
    wait: Math.min(wait, Math.max(0, left - LAST_ANSWER)),
    signal: AbortSignal.timeout(left),
  });
  try {
    new RunningCalls(tool, session.io).add(call, use.permissionId);
  } catch (error) {
    // The use is taken: the call runs, and its outcome stays unknown.
    const message = `The outcome will not be reported: ${messageOf(error)}`;
    await write(session.io.stderr, `countersign: ${escapeText(message)}\n`);
  }
  return approvalFor(tool, use.permissionId);
}

/** Reports the outcome of a call whose use was taken. That never fails the tool. */
async function reportEnd(end: HookEnd, { tool, session }: Hook): Promise<JsonObject> {
  const permissionId = new RunningCalls(tool, session.io).take(end);
  if (permissionId === null) return NO_OPINION;
  try {
    const { client } = session;
    await client.reportOutcome(permissionId, end.outcome, {
      timeout: REPORT_TIMEOUT,
      maxRetries: 0,
    });
  } catch (error) {
    const message = `The outcome was not reported: ${messageOf(error)}`;
    await write(session.io.stderr, `countersign: ${escapeText(message)}\n`);
  }
  return NO_OPINION;
}

async function denialBecause(error: unknown, tool: string, hook: Hook): Promise<JsonObject> {
  const { describeRefusal } = await import('../mcp/refusal.ts');
  return denialFor(hook.tool, describeRefusal(error, tool, addressOf(hook.session)));
}

/** The address of the service; empty where none is known, and nobody was asked. */
function addressOf(session: Session): string {
  try {
    return session.access.baseUrl;
  } catch {
    return '';
  }
}

/** @throws Overdue when a task has not ended by the deadline */
async function beforeDeadline<T>(task: Promise<T>, { deadline }: Hook): Promise<T> {
  const { Overdue } = await import('../mcp/refusal.ts');
  let timer: NodeJS.Timeout | undefined;
  const overdue = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Overdue()), Math.max(0, deadline - performance.now()));
  });
  return await Promise.race([task, overdue]).finally(() => clearTimeout(timer));
}
