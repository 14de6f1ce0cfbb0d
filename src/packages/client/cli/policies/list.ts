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
  { title: 'BUDGET', value: describeBudget },
  { title: 'EXPIRES', value: ({ expires_at }) => expires_at },
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

const WINDOW = { total: 'in all', hour: 'this hour', day: 'today', month: 'this month' };

/** How much of its budget a policy has used, such as `12 of 100 requests today`. */
function describeBudget({ budget, usage }: Policy): string | null {
  if (!budget || !usage) return null;
  const { per, requests, sum } = budget;
  const limits: string[] = [];
  if (requests !== undefined) limits.push(`${usage.requests} of ${requests} requests`);
  if (sum) limits.push(`${usage.sum} of ${sum.max} ${sum.key}`);
  return `${limits.join(', ')} ${WINDOW[per]}`;
}
