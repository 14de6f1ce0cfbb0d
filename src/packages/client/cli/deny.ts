import { present } from '../present.ts';
import { command } from './command.ts';
import { printPermission } from './print.ts';

export const deny = command({
  name: 'deny',
  description: 'Denies a request.',
  args: {
    id: { type: 'positional', description: 'The id of the request, perm_…' },
    reason: { type: 'string', description: 'Why, for the agent and the log', valueHint: 'text' },
  },
  examples: [
    'countersign deny perm_01m7x1m1tre75vaz5yvpbmvt6m',
    'countersign deny perm_01m7x1m1tre75vaz5yvpbmvt6m --reason "Not during the freeze"',
  ],
  async run({ args, session }) {
    await printPermission(
      session,
      await session.client.denyPermission(args.id, present({ reason: args.reason })),
    );
  },
});
