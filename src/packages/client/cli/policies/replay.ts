import type { PolicyCreation, Replay } from '../../api.ts';
import { command } from '../command.ts';
import { readInput } from '../input.ts';
import { printRecord } from '../print.ts';
import type { Session } from '../session.ts';
import { readJsonObject, readNumber } from '../values.ts';

export const replayPolicy = command({
  name: 'policies replay',
  description:
    'Tells what a draft of a policy would have done with the requests of the last days. Nothing is written.',
  args: {
    file: { type: 'positional', description: 'The policy as JSON; - reads it from stdin' },
    days: {
      type: 'string',
      default: '30d',
      description: 'How many days back, up to 90',
      valueHint: '30d',
    },
  },
  notes: [
    'The file has the fields of POST /v1/policies: name, effect, actions, resources, conditions and so on.',
  ],
  examples: ['countersign policies replay small-mails.json --days 90'],
  async run({ args, session }) {
    const text = await readInput(session.io, args.file);
    const replay = await session.client.replayPolicy({
      policy: readPolicy(text, args.file),
      days: readNumber(args.days.replace(/d$/, ''), 'days'),
    });
    await printRecord(session, replay, () => describe(replay, session));
  },
});

/** The service checks the fields. */
function readPolicy(text: string, file: string): PolicyCreation {
  readJsonObject(text, file);
  return JSON.parse(text);
}

function describe(replay: Replay, session: Session): string[] {
  const { requests, disagrees } = replay;
  const lines = session.facts([
    ['Requests', replay.complete ? requests : `${requests}, the newest of more`],
    ['Approves', replay.approve],
    ['Denies', replay.deny],
    ['To reviewers', replay.review],
    ['Does not apply', replay.undecided],
    ['As decided', replay.agrees],
    ['Otherwise', disagrees.length === 100 ? '100 or more' : disagrees.length],
    ['Budget', replay.budget_ignored && 'not counted: each request is tried alone'],
  ]);
  if (disagrees.length === 0) return lines;
  const table = session.table(disagrees, [
    { title: 'REQUEST', value: (row) => row.permission_id, isWhole: true },
    { title: 'WAS', value: (row) => row.was },
    { title: 'WOULD BE', value: (row) => row.would_be },
  ]);
  return [...lines, '', ...table];
}
