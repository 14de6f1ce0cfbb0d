import type { StopState } from '../api.ts';
import { present } from '../present.ts';
import { command } from './command.ts';
import { Names } from './names.ts';
import { printRecord } from './print.ts';
import type { Fact } from './terminal/facts.ts';
import { formatTime } from './terminal/time.ts';

export const stop = command({
  name: 'stop',
  description: 'Stops all agents of the account: nothing is requested, approved or used any more.',
  args: {
    reason: { type: 'string', description: 'Why, for everybody who reads it', valueHint: 'text' },
  },
  notes: [
    'If the account is stopped already, it stays as it is. The console resumes it. A program that checks tokens offline ' +
      'is not stopped.',
  ],
  examples: ['countersign stop', 'countersign stop --reason "The bot mails everybody"'],
  async run({ args, session }) {
    const state = await session.client.stopAccount(present({ reason: args.reason }));
    const names = new Names(session.client);
    if (session.isHuman) await names.load([state.stopped?.by ?? null]);
    await printRecord(session, state, () => session.facts(stopFacts(state.stopped, names)));
  },
});

/** Says since when an account is stopped, by whom and why. */
function stopFacts(stopped: StopState['stopped'], names: Names): Fact[] {
  if (!stopped) return [['Stopped', 'no']];
  return [
    ['Stopped', formatTime(stopped.at)],
    ['By', names.withId(stopped.by)],
    ['Reason', stopped.reason],
  ];
}
