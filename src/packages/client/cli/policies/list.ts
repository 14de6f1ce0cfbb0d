import type { Policy } from '../../api.ts';
import { command } from '../command.ts';
import { LIMIT, printFirst } from '../print.ts';
import { yesOrNo } from '../terminal/facts.ts';
import { colourStatus } from '../terminal/style.ts';
import type { Column } from '../terminal/table.ts';

const COLUMNS: Column<Policy>[] = [
  { title: 'ID', value: ({ id }) => id, isWhole: true },
  { title: 'NAME', value: ({ name }) => name },
  { title: 'EFFECT', value: ({ effect }) => effect, colour: colourStatus },
  { title: 'ACTIVE', value: ({ is_active }) => yesOrNo(is_active) },
  { title: 'ACTIONS', value: ({ actions }) => actions.join(' ') },
  { title: 'RESOURCES', value: ({ resources }) => resources.join(' ') },
  { title: 'PRIORITY', value: ({ priority }) => priority },
  { title: 'CREATED BY', value: ({ created_by }) => created_by },
];

export const listPolicies = command({
  name: 'policies list',
  description: 'Lists the policies of the account, newest first.',
  args: LIMIT,
  examples: ['countersign policies list'],
  run: ({ args, session }) =>
    printFirst(session, args.limit, (limit) => session.client.listPolicies({ limit }), COLUMNS),
});
