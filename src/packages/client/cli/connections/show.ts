import { command } from '../command.ts';
import { printConnection } from './print-connection.ts';

export const showConnection = command({
  name: 'connections show',
  description: 'Shows a connection with its rules. Its secret is never shown.',
  args: { id: { type: 'positional', description: 'The id of the connection, conn_…' } },
  examples: ['countersign connections show conn_01m7x1m1tre75vaz5yvpbmvt6m'],
  async run({ args, session }) {
    await printConnection(session, await session.client.getConnection(args.id));
  },
});
