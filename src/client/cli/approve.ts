import { command } from './command.ts';
import { makeApproval } from './narrow.ts';
import { printPermission } from './print.ts';

export const approve = command({
  name: 'approve',
  description: 'Approves a request as it was asked, or within narrower limits.',
  args: {
    id: { type: 'positional', description: 'The id of the request, perm_…' },
    limit: { type: 'string', description: 'A narrower limit', valueHint: 'key=value', isRepeated: true },
    scope: { type: 'string', description: 'All limits together', valueHint: 'JSON' },
    'token-ttl': { type: 'string', description: 'How long the approval can be used', valueHint: '15m' },
    'max-uses': { type: 'string', description: 'How often the approval can be used', valueHint: 'number' },
    reason: { type: 'string', description: 'Why, for the agent and the log', valueHint: 'text' },
  },
  notes: [
    'A value of --limit is JSON; anything else is a text. Limits that are not named stay as they were asked. A request that ' +
      'needs several approvals stays pending until enough people have approved.',
  ],
  examples: [
    'countersign approve perm_01m7x1m1tre75vaz5yvpbmvt6m',
    'countersign approve perm_01m7x1m1tre75vaz5yvpbmvt6m --limit max_recipients=10 --reason "Ten are enough"',
  ],
  async run({ args, session }) {
    const { client } = session;
    const approval = await makeApproval(args, args.limit, () => client.getPermission(args.id));
    const permission = await client.approvePermission(args.id, approval);
    await printPermission(session, permission);
  },
});
