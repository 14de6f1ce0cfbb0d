import { command } from './command.ts';
import { UsageError } from './failures.ts';
import { readInput } from './input.ts';
import { write } from './io.ts';
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
    const body = args.data === undefined ? {} : { body: await readBody(args.data) };
    const response = await client.send({ method, path: args.path, ...body });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const isJson = response.headers.get('Content-Type')?.startsWith('application/json');
    if (isJson) {
      const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
      await write(io.stdout, `${printableJson(value, session.isHuman ? 2 : undefined)}\n`);
    } else if (bytes.length > 0) {
      await write(
        io.stdout,
        io.stdout.isTTY ? `${escapeLines(new TextDecoder().decode(bytes)).join('\n')}\n` : bytes,
      );
    }

    async function readBody(data: string): Promise<unknown> {
      if (data === '-') return readJson(await readInput(io, '-'), 'The body');
      const text = data.startsWith('@') ? await readInput(io, data.slice(1)) : data;
      return readJson(text, 'The body');
    }
  },
});
