import type { Agent } from '../../api.ts';
import { command } from '../command.ts';
import { LIMIT, printFirst } from '../print.ts';
import { yesOrNo } from '../terminal/facts.ts';
import type { Column } from '../terminal/table.ts';
import { formatTime } from '../terminal/time.ts';

const COLUMNS: Column<Agent>[] = [
  { title: 'ID', value: ({ id }) => id, isWhole: true },
  { title: 'NAME', value: ({ name }) => name },
  {
    title: 'LAST SEEN',
    value: ({ last_activity_at }) => formatTime(last_activity_at) ?? 'never',
    isWhole: true,
  },
  { title: 'ACTIVE', value: ({ is_active }) => yesOrNo(is_active) },
  { title: 'KEY', value: ({ api_key_prefix }) => `${api_key_prefix}…` },
];

export const listAgents = command({
  name: 'agents list',
  description: 'Lists the agents of the account, newest first.',
  args: LIMIT,
  examples: [
    'countersign agents list',
    "countersign agents list --json | jq -r 'select(.is_active | not) | .id'",
  ],
  run: ({ args, session }) =>
    printFirst(session, args.limit, (limit) => session.client.listAgents({ limit }), COLUMNS),
});
