import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Countersign } from '../../countersign.ts';
import { exitCodeOf, startFailureCode } from '../exit-codes.ts';
import { systemCode } from '../failures.ts';
import { withoutCredentials } from '../without-credentials.ts';
import { Gate } from './gate.ts';
import { type Line, LineReader, LongLine } from './lines.ts';
import type { McpToolRules } from './tool-rules.ts';

interface Options {
  /** The server's command and its arguments. */
  command: [string, ...string[]];
  client: Countersign;
  rules: McpToolRules;
  /** Tells something to the person who runs the command. */
  notice(text: string): void;
}

/** The most bytes of a line from the client: more than MCP clients and servers take by default. */
const MAX_LINE = 16 * 1024 * 1024;

/**
 * How long the last output of a server that ended is awaited, in milliseconds: its own children may
 * hold it open.
 */
const LAST_OUTPUT = 1_000;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs an MCP server with the gate between its stdin and stdout and those of this process. Ends
 * when the server ends, whose input is closed when the client closes this one's.
 * @returns the exit code of the server, or 128 plus the number of the signal that ended it
 */
export async function runBehindGate({ command, client, rules, notice }: Options): Promise<number> {
  const [file, ...args] = command;
  const server = spawn(file, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: withoutCredentials(process.env),
  });
  const exitCode = new Promise<number>((resolve) => {
    server.once('exit', (code, signal) => resolve(exitCodeOf(code, signal)));
    server.once('error', (error: NodeJS.ErrnoException) => {
      notice(`The server could not be started: ${error.message}`);
      resolve(startFailureCode(error));
    });
  });
  const pass = (signal: NodeJS.Signals) => server.kill(signal);
  for (const signal of SIGNALS) process.on(signal, pass);

  const gate = new Gate({
    client,
    rules,
    server: [process.cwd(), ...command],
    toServer: (line) => server.stdin.write(`${line}\n`),
    toClient: (line) => process.stdout.write(`${line}\n`),
    notice,
  });
  const disconnect = async () => {
    await gate.close();
    server.stdin.end();
  };
  // A write to a server that has ended, or to a client that has gone.
  server.stdin.on('error', () => {});
  process.stdout.on('error', disconnect);
  const fromClient = async (line: Line) => {
    gate.fromClient(line);
    await drained(server.stdin);
  };
  const fromServer = async (line: Line) => {
    if (line instanceof LongLine) return;
    gate.fromServer(line);
    process.stdout.write(Buffer.concat([line, Buffer.from('\n')]));
    await drained(process.stdout);
  };
  const fail = (error: Error) =>
    notice(`The connection ends, because a message could not be handled: ${error.message}`);
  void forEachLine(process.stdin, new LineReader(MAX_LINE), fromClient)
    .catch(fail)
    .finally(disconnect);
  const output = forEachLine(server.stdout, new LineReader(), fromServer).catch(fail);

  const code = await exitCode;
  await atMost(LAST_OUTPUT, output);
  await gate.close();
  for (const signal of SIGNALS) process.off(signal, pass);
  server.stdout.destroy();
  process.stdin.destroy();
  return code;
}

/** Reads a stream until it ends or fails. What follows the last newline is no line. */
async function forEachLine(
  input: Readable,
  reader: LineReader,
  use: (line: Line) => Promise<void>,
): Promise<void> {
  try {
    for await (const bytes of input) {
      for (const line of reader.push(bytes)) await use(line);
    }
  } catch (error) {
    // The errors of streams have codes: then the other end is gone.
    if (!systemCode(error)) throw error;
  }
}

/** Waits while the reader of a stream is slower than its writer. */
async function drained(output: Writable): Promise<void> {
  if (!output.writableNeedDrain || output.destroyed) return;
  const waiting = new AbortController();
  const { signal } = waiting;
  const events = ['drain', 'close'].map((event) => once(output, event, { signal }));
  await Promise.race(events).finally(() => waiting.abort());
}

async function atMost(milliseconds: number, task: Promise<void>): Promise<void> {
  const timer = new AbortController();
  const { signal } = timer;
  const timeout = sleep(milliseconds, undefined, { signal }).catch(() => {});
  await Promise.race([task, timeout]);
  timer.abort();
}
