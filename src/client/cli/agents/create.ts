import { command } from '../command.ts';
import { note, printRecord } from '../print.ts';
import { present, readJsonObject } from '../values.ts';

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
        metadata: metadata === undefined ? undefined : readJsonObject(metadata, '--metadata'),
      }),
    });
    await printRecord(session, agent, () =>
      session.facts([
        ['Agent', agent.id],
        ['Name', agent.name],
        ['Key', agent.api_key],
      ]),
    );
    if (session.isHuman) await note(session, 'Keep the key now: it is not shown again.');
  },
});
