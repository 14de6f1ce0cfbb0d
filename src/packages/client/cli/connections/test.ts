import { command } from '../command.ts';
import { printRecord } from '../print.ts';

export const testConnection = command({
  name: 'connections test',
  description: 'Reads a path of the other service with the credential, and tells what it answered.',
  args: {
    id: { type: 'positional', description: 'The id of the connection, conn_…' },
    path: { type: 'positional', description: 'The path, below the base URL' },
  },
  notes: [
    'The path is read with GET, whatever the rules say. The body of the answer is not shown.',
  ],
  examples: ['countersign connections test conn_01m7x1m1tre75vaz5yvpbmvt6m /v1/balance'],
  async run({ args, session }) {
    const { id, path } = args;
    const result = await session.client.testConnection(id, { path });
    await printRecord(session, result, () =>
      session.facts([
        ['Status', result.status],
        ['Duration', `${result.duration_ms} ms`],
      ]),
    );
  },
});
