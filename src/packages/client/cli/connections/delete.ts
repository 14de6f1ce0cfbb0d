import { command } from '../command.ts';
import { note } from '../print.ts';

export const deleteConnection = command({
  name: 'connections delete',
  description:
    'Deletes a connection with its secret. Nothing more is sent, and its requests that wait are withdrawn.',
  args: { id: { type: 'positional', description: 'The id of the connection, conn_…' } },
  examples: ['countersign connections delete conn_01m7x1m1tre75vaz5yvpbmvt6m'],
  async run({ args, session }) {
    await session.client.deleteConnection(args.id);
    if (session.isHuman) await note(session, 'The connection is deleted.');
  },
});
