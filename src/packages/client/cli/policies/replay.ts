import type { PolicyCreation } from '../../api.ts';
import { command } from '../command.ts';
import { readInput } from '../input.ts';
import { printRecord } from '../print.ts';
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
    const policy = readJsonObject(
      await readInput(session.io, args.file),
      args.file,
    ) as unknown as PolicyCreation;
    const replay = await session.client.replayPolicy({
      policy,
      days: readNumber(args.days.replace(/d$/, ''), 'days'),
    });
    const { requests, approve, deny, review, undecided, agrees, disagrees, complete } = replay;
    await printRecord(session, replay, () => [
      ...session.facts([
        ['Requests', complete ? requests : `${requests}, the newest of more`],
        ['Approves', approve],
        ['Denies', deny],
        ['To reviewers', review],
        ['Does not apply', undecided],
        ['As decided', agrees],
        ['Otherwise', disagrees.length === 100 ? '100 or more' : disagrees.length],
      ]),
      ...(disagrees.length > 0
        ? [
            '',
            ...session.table(disagrees, [
              { title: 'REQUEST', value: (row) => row.permission_id, isWhole: true },
              { title: 'WAS', value: (row) => row.was },
              { title: 'WOULD BE', value: (row) => row.would_be },
            ]),
          ]
        : []),
    ]);
  },
});
