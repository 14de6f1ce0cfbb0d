import type { ConnectionCreation } from '../../api.ts';
import { present } from '../../present.ts';
import { command } from '../command.ts';
import { readInput } from '../input.ts';
import type { Io } from '../io.ts';
import { readJsonObject } from '../values.ts';
import { printConnection } from './print-connection.ts';

/** Reads are sent at once, and everything else needs permission. */
const ALLOW_READS: ConnectionCreation['rules'] = [
  { methods: ['GET', 'HEAD'], effect: 'allow' },
  { effect: 'ask' },
];

export const createConnection = command({
  name: 'connections create',
  description:
    'Creates a connection: Countersign keeps a credential, and sends what agents may do with it.',
  args: {
    file: {
      type: 'string',
      description: 'The fields as JSON; - reads them from stdin',
      valueHint: 'file',
    },
    name: { type: 'string', description: 'Its name', valueHint: 'text' },
    slug: { type: 'string', description: 'Its name in actions, such as stripe' },
    'base-url': {
      type: 'string',
      description: 'Where calls are sent',
      valueHint: 'https://api.stripe.com',
    },
    agent: { type: 'string', description: 'The id of an agent that may call it', isRepeated: true },
    auth: {
      type: 'string',
      description: 'How the credential is sent',
      choices: ['none', 'basic', 'header'],
    },
    header: { type: 'string', description: 'The header of the credential, else Authorization' },
    prefix: { type: 'string', description: 'What stands before the credential, else "Bearer "' },
    'secret-file': {
      type: 'string',
      description: 'The file with the credential; - reads it from stdin',
      valueHint: 'file',
    },
    'allow-reads': {
      type: 'boolean',
      description: 'Send GET and HEAD at once, and ask for all else',
    },
  },
  fields: { 'body.agent_ids': '--agent', 'body.secret': '--secret-file' },
  notes: [
    'The file has the fields of POST /v1/connections: name, base_url, auth, secret, rules, agent_ids and so on. Options ' +
      'count more than the file. Without rules every call is refused.',
    'The credential is read from a file, because other programs of this machine can read the options of a command.',
  ],
  examples: [
    'countersign connections create --file stripe.json',
    'countersign connections create --name Stripe --base-url https://api.stripe.com --agent agent_01m7x1m1tre75vaz5yvpbmvt6m --auth header --secret-file key.txt --allow-reads',
  ],
  async run({ args, session }) {
    const { io, client } = session;
    const { file, name, slug, agent, auth, header, prefix } = args;
    const text = file === undefined ? '{}' : await readInput(io, file);
    const secretFile = args['secret-file'];
    const secret = secretFile === undefined ? undefined : await readSecret(io, secretFile);
    const way = present({ type: auth, header, prefix });
    const connection = await client.createConnection({
      ...readFields(text, file ?? ''),
      ...present({ name, slug, base_url: args['base-url'], secret }),
      ...(agent.length > 0 && { agent_ids: agent }),
      ...(Object.keys(way).length > 0 && { auth: { type: 'header', ...way } }),
      ...(args['allow-reads'] && { rules: ALLOW_READS }),
    });
    await printConnection(session, connection);
  },
});

/**
 * Reads the credential. An error does not show the path, because somebody may have given the
 * credential itself in its place.
 */
async function readSecret(io: Io, file: string): Promise<string> {
  const text = await readInput(io, file, 'The file of --secret-file');
  return text.replace(/\r?\n$/, '');
}

/** The service checks the fields. */
function readFields(text: string, file: string): ConnectionCreation {
  readJsonObject(text, file);
  return JSON.parse(text);
}
