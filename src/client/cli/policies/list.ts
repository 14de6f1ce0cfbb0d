import type { Policy } from '../../api.ts';
import { command } from '../command.ts';
import { printList, takeFirst } from '../print.ts';
import { colourStatus } from '../terminal/style.ts';
import type { Column } from '../terminal/table.ts';
import { readNumber } from '../values.ts';

const COLUMNS: Column<Policy>[] = [
  { title: 'ID', value: ({ id }) => id, isWhole: true },
  { title: 'NAME', value: ({ name }) => name },
  { title: 'EFFECT', value: ({ effect }) => effect, colour: colourStatus },
  { title: 'ACTIVE', value: ({ is_active }) => (is_active ? 'yes' : 'no') },
  { title: 'ACTIONS', value: ({ actions }) => actions.join(' ') },
  { title: 'RESOURCES', value: ({ resources }) => resources.join(' ') },
  { title: 'PRIORITY', value: ({ priority }) => priority },
];

export const listPolicies = command({
  name: 'policies list',
  description: 'Lists the policies of the account, newest first.',
  args: {
    limit: { type: 'string', default: '50', description: 'The greatest number of policies', valueHint: 'number' },
  },
  examples: ['countersign policies list'],
  async run({ args, session }) {
    const limit = readNumber(args.limit, 'limit');
    const policies = session.client.listPolicies({ limit: Math.min(limit + 1, 100) });
    await printList(session, takeFirst(session, policies, limit), COLUMNS);
  },
});
