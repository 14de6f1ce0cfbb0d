import type { Agent } from '../../api.ts';
import { command } from '../command.ts';
import { printList, takeFirst } from '../print.ts';
import type { Column } from '../terminal/table.ts';
import { formatTime } from '../terminal/time.ts';
import { readNumber } from '../values.ts';

const COLUMNS: Column<Agent>[] = [
  { title: 'ID', value: ({ id }) => id, isWhole: true },
  { title: 'NAME', value: ({ name }) => name },
  { title: 'LAST SEEN', value: ({ last_activity_at }) => formatTime(last_activity_at) ?? 'never', isWhole: true },
  { title: 'ACTIVE', value: ({ is_active }) => (is_active ? 'yes' : 'no') },
  { title: 'KEY', value: ({ api_key_prefix }) => `${api_key_prefix}…` },
];

export const listAgents = command({
  name: 'agents list',
  description: 'Lists the agents of the account, newest first.',
  args: { limit: { type: 'string', default: '50', description: 'The greatest number of agents', valueHint: 'number' } },
  examples: ['countersign agents list', "countersign agents list --json | jq -r 'select(.is_active | not) | .id'"],
  async run({ args, session }) {
    const limit = readNumber(args.limit, 'limit');
    const agents = session.client.listAgents({ limit: Math.min(limit + 1, 100) });
    await printList(session, takeFirst(session, agents, limit), COLUMNS);
  },
});
