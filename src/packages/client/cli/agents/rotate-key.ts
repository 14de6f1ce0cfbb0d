import { command } from '../command.ts';
import { printSecret } from '../print.ts';
import { formatTime } from '../terminal/time.ts';
import { readDuration } from '../values.ts';

export const rotateKey = command({
  name: 'agents rotate-key',
  description: 'Gives an agent a new key, and prints it. The key is shown only this once.',
  args: {
    id: { type: 'positional', description: 'The id of the agent, agent_…' },
    'grace-period': {
      type: 'string',
      default: '1d',
      description: 'How long the replaced key keeps working; 0 ends all older keys now',
      valueHint: '1h',
    },
  },
  examples: [
    'countersign agents rotate-key agent_01m7x1m1tre75vaz5yvpbmvt6m --grace-period 1h',
    'countersign agents rotate-key agent_01m7x1m1tre75vaz5yvpbmvt6m --grace-period 0',
  ],
  async run({ args, session }) {
    const grace_period = readDuration(args['grace-period'], 'grace-period');
    const rotated = await session.client.rotateAgentKey(args.id, { grace_period });
    await printSecret(session, rotated, [
      ['Agent', rotated.id],
      ['New key', rotated.api_key],
      ['Old key until', formatTime(rotated.old_key_expires_at)],
    ]);
  },
});
