import { command } from '../command.ts';
import { printPermission } from '../print.ts';

export const endSeries = command({
  name: 'series end',
  description:
    'Ends a series: nothing more is approved by it. What it has approved stays approved.',
  args: {
    id: { type: 'positional', description: 'The id of the request whose approval gave it, perm_…' },
  },
  examples: ['countersign series end perm_01m7x1m1tre75vaz5yvpbmvt6m'],
  async run({ args, session }) {
    const { client } = session;
    await client.endSeries(args.id);
    await printPermission(session, await client.getPermission(args.id));
  },
});
