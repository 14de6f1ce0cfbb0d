import { Readable, Writable } from 'node:stream';
import { runCli } from '../../src/packages/client/cli/cli.ts';
import type { Io, Output } from '../../src/packages/client/cli/io.ts';
import type { Clock } from '../../src/packages/client/index.ts';

/** How a command ended, and what it printed. */
interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

interface Settings {
  env?: Record<string, string>;
  /** Whether stdout is a terminal, and how wide it is. */
  columns?: number;
  stdin?: string;
  clock?: Clock;
  platform?: NodeJS.Platform;
  openBrowser?: (address: string) => void;
  /** Sends the calls to a service, instead of giving scripted answers. */
  fetch?: typeof fetch;
}

/** A call that a command sent. */
interface Sent {
  method: string;
  path: string;
  body: unknown;
  authorization: string | null;
  origin: string;
}

/** The answers of a service, by method and path; a function makes the answer of each call. */
export type Answers = Record<string, unknown>;

/** A problem answer. */
export function problem(status: number, code: string, fields: object = {}): Response {
  const headers = { 'X-Request-Id': 'req_1' };
  return Response.json({ code, status, detail: 'What to do.', ...fields }, { status, headers });
}

/** Runs a command in this process against a service that gives these answers. */
export async function runInProcess(
  argv: string[],
  answers: Answers = {},
  settings: Settings = {},
): Promise<Outcome & { sent: Sent[] }> {
  const sent: Sent[] = [];
  const { env, columns, stdin = '', clock, platform = 'linux', openBrowser = () => {} } = settings;
  const printed = { stdout: '', stderr: '' };
  const output = (name: keyof typeof printed): Output =>
    new Writable({
      write(chunk, _encoding, done) {
        printed[name] += chunk;
        done();
      },
    });
  const scripted: typeof fetch = async (input, init) => {
    const { pathname, search, origin } = new URL(String(input));
    const method = init?.method ?? 'GET';
    const call = {
      ...{
        method,
        origin,
        path: pathname + search,
        authorization: new Headers(init?.headers).get('Authorization'),
      },
      body: init?.body ? JSON.parse(String(init.body)) : undefined,
    };
    sent.push(call);
    const answer = answers[`${method} ${pathname}`];
    const made = typeof answer === 'function' ? answer(call) : answer;
    if (made === undefined) throw new Error(`no answer to ${method} ${pathname}`);
    return made instanceof Response ? made.clone() : Response.json(made);
  };
  const io: Io = {
    env: { COUNTERSIGN_URL: 'https://countersign.test', COUNTERSIGN_API_KEY: 'csu_secret', ...env },
    platform,
    stdin: Readable.from([stdin]),
    stdout:
      columns === undefined
        ? output('stdout')
        : Object.assign(output('stdout'), { isTTY: true, columns }),
    stderr: output('stderr'),
    clock: clock ?? { now: () => Date.parse('2026-01-31T12:00:00Z'), sleep: async () => {} },
    openBrowser,
    fetch: settings.fetch ?? scripted,
  };
  const code = await runCli(argv, io);
  return { code, ...printed, sent };
}
