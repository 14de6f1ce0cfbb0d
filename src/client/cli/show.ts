import { command } from './command.ts';
import { formatPermission } from './permission-card.ts';
import { printRecord } from './print.ts';

export const show = command({
  name: 'show',
  description: 'Shows a request: who asks for what, within which limits, and how it stands.',
  args: { id: { type: 'positional', description: 'The id of the request, perm_…', required: true } },
  examples: ['countersign show perm_01m7x1m1tre75vaz5yvpbmvt6m'],
  async run({ args, session }) {
    const { client, style, width } = session;
    const permission = await client.getPermission(args.id);
    await printRecord(session, permission, () =>
      formatPermission(permission, { style, width, baseUrl: client.baseUrl, now: client.clock.now() }),
    );
  },
});
