import type { Connection } from '../../api.ts';
import { command } from '../command.ts';
import { LIMIT, printFirst } from '../print.ts';
import { yesOrNo } from '../terminal/facts.ts';
import type { Column } from '../terminal/table.ts';

const COLUMNS: Column<Connection>[] = [
  { title: 'ID', value: ({ id }) => id, isWhole: true },
  { title: 'NAME', value: ({ name }) => name },
  { title: 'LEADS TO', value: ({ base_url }) => base_url },
  { title: 'AGENTS', value: ({ agent_ids }) => String(agent_ids.length) },
  { title: 'RULES', value: ({ rules }) => String(rules.length) },
  { title: 'ACTIVE', value: ({ is_active }) => yesOrNo(is_active) },
];

export const listConnections = command({
  name: 'connections list',
  description: 'Lists the connections of the account, newest first.',
  args: LIMIT,
  examples: ['countersign connections list'],
  run: ({ args, session }) =>
    printFirst(session, args.limit, (limit) => session.client.listConnections({ limit }), COLUMNS),
});
