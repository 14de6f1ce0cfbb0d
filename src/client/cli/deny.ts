import { command } from './command.ts';
import { formatPermission } from './permission-card.ts';
import { printRecord } from './print.ts';

export const deny = command({
  name: 'deny',
  description: 'Denies a request.',
  args: {
    id: { type: 'positional', description: 'The id of the request, perm_…', required: true },
    reason: { type: 'string', description: 'Why, for the agent and the log', valueHint: 'text', required: true },
  },
  examples: ['countersign deny perm_01m7x1m1tre75vaz5yvpbmvt6m --reason "Not during the freeze"'],
  async run({ args, session }) {
    const { client, style, width } = session;
    const permission = await client.denyPermission(args.id, { reason: args.reason });
    await printRecord(session, permission, () =>
      formatPermission(permission, { style, width, baseUrl: client.baseUrl, now: client.clock.now() }),
    );
  },
});
