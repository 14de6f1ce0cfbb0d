import type { OutcomeReport } from '../api.ts';
import { present } from '../present.ts';
import { command } from './command.ts';
import { UsageError } from './failures.ts';
import { printPermission } from './print.ts';

const STATUSES = ['succeeded', 'failed', 'unknown'] as const;

export const outcome = command({
  name: 'outcome',
  description: 'Reports what happened after the use of an approval.',
  args: {
    id: { type: 'positional', description: 'The id of the request, perm_…' },
    status: { type: 'positional', description: STATUSES.join(', ') },
    summary: {
      type: 'string',
      description: 'What happened, in a few words',
      valueHint: 'text',
    },
  },
  notes: [
    'Only who took the use can report: set COUNTERSIGN_API_KEY to the key of the agent, or sign in as the member. ' +
      'An outcome stays, except for unknown: then it can still become one of the others.',
  ],
  examples: [
    'countersign outcome perm_01m7x1m1tre75vaz5yvpbmvt6m succeeded',
    'countersign outcome perm_01m7x1m1tre75vaz5yvpbmvt6m failed --summary "The bank refused the account"',
  ],
  async run({ args, session }) {
    const { id, summary } = args;
    const report = { status: readStatus(args.status), ...present({ summary }) };
    await printPermission(session, await session.client.reportOutcome(id, report));
  },
});

function readStatus(text: string): OutcomeReport['status'] {
  const status = STATUSES.find((each) => each === text);
  if (!status) throw new UsageError(`${text} is not one of ${STATUSES.join(', ')}.`);
  return status;
}
