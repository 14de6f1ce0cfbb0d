import type { AuditEntry } from '../../api.ts';
import { present } from '../../present.ts';
import { command } from '../command.ts';
import { Names } from '../names.ts';
import { LIMIT, printFirst } from '../print.ts';
import { colourStatus } from '../terminal/style.ts';
import type { Column } from '../terminal/table.ts';
import { formatTime } from '../terminal/time.ts';
import { FILTER_FIELDS, FILTERS, readFilters } from './filters.ts';

const columnsWith = (names: Names): Column<AuditEntry>[] => [
  { title: 'NUMBER', value: ({ sequence }) => sequence, isWhole: true },
  { title: 'TIME', value: ({ created_at }) => formatTime(created_at), isWhole: true },
  { title: 'EVENT', value: ({ event_type }) => event_type, colour: colourStatus, isWhole: true },
  { title: 'AGENT', value: ({ agent_id }) => names.of(agent_id) },
  { title: 'ACTION', value: ({ details }) => details.action },
  { title: 'RESOURCE', value: ({ details }) => details.resource },
  { title: 'BY', value: ({ details }) => names.of(details.decided_by) },
  { title: 'REASON', value: ({ details }) => details.decision_reason },
  { title: 'REQUEST', value: (entry) => entry.permission_request_id, isWhole: true },
];

export const listEntries = command({
  name: 'audit list',
  description: 'Lists entries of the audit log, newest first.',
  args: {
    ...FILTERS,
    from: {
      type: 'string',
      description: 'Only from this day or time on (UTC)',
      valueHint: '2026-01-01',
    },
    to: {
      type: 'string',
      description: 'Only up to this day, or before this time (UTC)',
      valueHint: '2026-01-31',
    },
    order: {
      type: 'string',
      choices: ['desc', 'asc'],
      default: 'desc',
      description: 'Newest or oldest first',
    },
    ...LIMIT,
  },
  fields: FILTER_FIELDS,
  examples: [
    'countersign audit list --event deny --from 2026-01-01',
    'countersign audit list --permission perm_01m7x1m1tre75vaz5yvpbmvt6m --order asc',
  ],
  async run({ args, session }) {
    const query = {
      ...readFilters(args),
      ...present({ start_date: args.from, end_date: args.to }),
      order: args.order,
    };
    const names = new Names(session.client);
    await printFirst(
      session,
      args.limit,
      (limit) => session.client.listAuditEntries({ ...query, limit }),
      columnsWith(names),
      (entries) =>
        names.load(entries.flatMap(({ agent_id, details }) => [agent_id, details.decided_by])),
    );
  },
});
