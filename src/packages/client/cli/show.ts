import { command } from './command.ts';
import { printPermission } from './print.ts';

export const show = command({
  name: 'show',
  description: 'Shows a request: who asks for what, within which limits, and how it stands.',
  args: { id: { type: 'positional', description: 'The id of the request, perm_…' } },
  examples: ['countersign show perm_01m7x1m1tre75vaz5yvpbmvt6m'],
  async run({ args, session }) {
    await printPermission(session, await session.client.getPermission(args.id));
  },
});
