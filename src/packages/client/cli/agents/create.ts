import { present } from '../../present.ts';
import { command } from '../command.ts';
import { printSecret } from '../print.ts';
import { readGiven, readJsonObject } from '../values.ts';

export const createAgent = command({
  name: 'agents create',
  description: 'Registers an agent, and prints its key. The key is shown only this once.',
  args: {
    name: { type: 'positional', description: 'Its name' },
    description: { type: 'string', description: 'What it does', valueHint: 'text' },
    metadata: { type: 'string', description: 'Free-form data', valueHint: 'JSON' },
  },
  examples: [
    'countersign agents create "Mail assistant"',
    'countersign agents create "Mail assistant" --json > agent.json',
  ],
  async run({ args, session }) {
    const { name, description, metadata } = args;
    const agent = await session.client.createAgent({
      name,
      ...present({
        description,
        metadata: readGiven(readJsonObject, metadata, '--metadata'),
      }),
    });
    await printSecret(session, agent, [
      ['Agent', agent.id],
      ['Name', agent.name],
      ['Key', agent.api_key],
    ]);
  },
});
