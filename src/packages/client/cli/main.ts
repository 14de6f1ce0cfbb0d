#!/usr/bin/env node
import { runCli } from './cli.ts';
import { EXIT_AFTER_SIGPIPE } from './exit-codes.ts';
import { processIo } from './io.ts';

// The reader of stdout may end before all is written, as in `countersign audit list | head`. A
// command that goes on without a reader has a listener of its own.
process.stdout.on('error', () => {
  if (process.stdout.listenerCount('error') === 1) process.exit(EXIT_AFTER_SIGPIPE);
});
// Without a reader of its messages a command goes on: its exit code still tells how it ended.
process.stderr.on('error', () => {});
process.exitCode = await runCli(process.argv.slice(2), processIo());
