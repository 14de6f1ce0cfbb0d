import { readFileSync } from 'node:fs';
import { Countersign } from '../../countersign.ts';
import { messageOf } from '../../errors.ts';
import { command } from '../command.ts';
import { UsageError } from '../failures.ts';
import { hideKey } from '../hide-key.ts';
import { escapeText } from '../terminal/escape.ts';
import { parseRules } from './rules-file.ts';
import { runBehindGate } from './run-behind-gate.ts';
import type { McpToolRules } from './tool-rules.ts';

/**
 * How long one request to the service may take, in milliseconds: longer than a read that waits for
 * a decision.
 */
const REQUEST_TIMEOUT = 30_000;

export const wrap = command({
  name: 'mcp wrap',
  description:
    'Runs an MCP server over stdio, so that its tools run only as the rules and people allow.',
  args: {
    rules: {
      type: 'string',
      description: 'JSON file of rules; without it every call asks',
      valueHint: 'file',
    },
  },
  hasRest: true,
  notes: [
    'COUNTERSIGN_API_KEY is the key of the agent that asks; the server does not see it. The exit code is that of the server.',
  ],
  examples: [
    'countersign mcp wrap --rules rules.json -- npx @modelcontextprotocol/server-filesystem /srv/files',
  ],
  async run({ args, session, rest }) {
    const [file, ...serverArgs] = rest;
    if (file === undefined) throw new UsageError('Name the command of the server after --.');
    const rules = readRules(args.rules);
    const { baseUrl, credential } = session.access;
    if (!credential.startsWith('csa_')) {
      throw new UsageError(
        'mcp wrap asks as an agent: set COUNTERSIGN_API_KEY to the key of an agent (csa_…).',
      );
    }
    const client = new Countersign({ baseUrl, apiKey: credential, timeout: REQUEST_TIMEOUT });
    hideKey();
    return await runBehindGate({ command: [file, ...serverArgs], client, rules, notice });
  },
});

function readRules(file: string | undefined): McpToolRules {
  if (file === undefined) return parseRules('{}');
  try {
    return parseRules(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UsageError(`${file}: ${messageOf(error)}`);
  }
}

/** Tells something to the person who runs the command: stdout is for MCP only. */
function notice(text: string): void {
  process.stderr.write(`countersign: ${escapeText(text)}\n`);
}
