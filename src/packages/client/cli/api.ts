import { command } from './command.ts';
import { UsageError } from './failures.ts';
import { readInput } from './input.ts';
import { type Io, write } from './io.ts';
import { escapeLines, printableJson } from './terminal/escape.ts';
import { readJson } from './values.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

export const api = command({
  name: 'api',
  description: 'Sends any call of the API, and prints the answer.',
  args: {
    method: { type: 'positional', description: METHODS.join(', ') },
    path: { type: 'positional', description: 'The path with its query, /v1/…' },
    data: {
      type: 'string',
      description: 'The body as JSON; @file reads it from a file, - from stdin',
      valueHint: 'JSON',
    },
  },
  notes: ['The operations and their fields are at /docs of the service.'],
  examples: [
    'countersign api GET "/v1/permissions?status=pending"',
    `countersign api PUT /v1/agents/agent_01m7x1m1tre75vaz5yvpbmvt6m --data '{"is_active": false}'`,
    'countersign api POST /v1/policies --data @policy.json',
  ],
  async run({ args, session }) {
    const { io, client } = session;
    const method = args.method.toUpperCase();
    if (!METHODS.includes(method))
      throw new UsageError(`${args.method} is not one of ${METHODS.join(', ')}.`);
    // Without the slash, the path could go on with the name of the host.
    if (!args.path.startsWith('/'))
      throw new UsageError('The path begins with a slash, such as /v1/me.');
    const body = await readBody(args.data, io);
    const response = await client.send({ method, path: args.path, body });
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (bytes.length === 0) return;
    const text = new TextDecoder().decode(bytes);
    if (response.headers.get('Content-Type')?.startsWith('application/json')) {
      const indent = session.isHuman ? 2 : undefined;
      await write(io.stdout, `${printableJson(JSON.parse(text), indent)}\n`);
    } else if (io.stdout.isTTY) {
      await write(io.stdout, `${escapeLines(text).join('\n')}\n`);
    } else {
      await write(io.stdout, bytes);
    }
  },
});

async function readBody(data: string | undefined, io: Io): Promise<unknown> {
  if (data === undefined) return undefined;
  let text = data;
  if (data === '-') text = await readInput(io, data);
  else if (data.startsWith('@')) text = await readInput(io, data.slice(1));
  return readJson(text, 'The body');
}
