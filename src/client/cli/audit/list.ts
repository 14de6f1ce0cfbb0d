import { command } from '../command.ts';
import { printList, takeFirst } from '../print.ts';
import { present, readNumber } from '../values.ts';
import { ENTRY_COLUMNS } from './columns.ts';
import { FILTER_FIELDS, FILTERS, readFilters } from './filters.ts';

export const listEntries = command({
  name: 'audit list',
  description: 'Lists entries of the audit log, newest first.',
  args: {
    ...FILTERS,
    from: { type: 'string', description: 'Only from this day or time on (UTC)', valueHint: '2026-01-01' },
    to: { type: 'string', description: 'Only up to this day, or before this time (UTC)', valueHint: '2026-01-31' },
    order: { type: 'string', choices: ['desc', 'asc'], default: 'desc', description: 'Newest or oldest first' },
    limit: { type: 'string', default: '50', description: 'The greatest number of entries', valueHint: 'number' },
  },
  fields: FILTER_FIELDS,
  examples: [
    'countersign audit list --event deny --from 2026-01-01',
    'countersign audit list --permission perm_01m7x1m1tre75vaz5yvpbmvt6m --order asc',
  ],
  async run({ args, session }) {
    const limit = readNumber(args.limit, 'limit');
    const entries = session.client.listAuditEntries({
      ...readFilters(args),
      ...present({ start_date: args.from, end_date: args.to }),
      order: args.order,
      limit: Math.min(limit + 1, 100),
    });
    await printList(session, takeFirst(session, entries, limit), ENTRY_COLUMNS);
  },
});
