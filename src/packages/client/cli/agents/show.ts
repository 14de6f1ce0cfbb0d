import { command } from '../command.ts';
import { printRecord } from '../print.ts';
import { printableJson } from '../terminal/escape.ts';
import { yesOrNo } from '../terminal/facts.ts';
import { formatTime } from '../terminal/time.ts';

export const showAgent = command({
  name: 'agents show',
  description: 'Shows an agent, and what has become of its requests.',
  args: {
    id: { type: 'positional', description: 'The id of the agent, agent_…' },
    period: {
      type: 'string',
      default: '30d',
      description: 'The time of the statistics',
      valueHint: '7d',
    },
  },
  examples: ['countersign agents show agent_01m7x1m1tre75vaz5yvpbmvt6m --period 7d'],
  async run({ args, session }) {
    const { client, style } = session;
    const [agent, statistics] = await Promise.all([
      client.getAgent(args.id),
      client.getAgentStatistics(args.id, { period: args.period }),
    ]);
    const { period, ...numbers } = statistics;
    const metadata = printableJson(agent.metadata);
    await printRecord(session, { ...agent, statistics }, () => [
      ...session.facts([
        ['Agent', agent.id],
        ['Name', agent.name],
        ['Description', agent.description],
        ['Active', yesOrNo(agent.is_active)],
        ['Owner', agent.owner_id],
        ['Key', `${agent.api_key_prefix}…`],
        ['Metadata', metadata === '{}' ? null : metadata],
        ['Last seen', formatTime(agent.last_activity_at) ?? 'never'],
        ['Created at', formatTime(agent.created_at)],
      ]),
      '',
      style.bold(`The last ${period}`),
      ...session.facts(
        Object.entries(numbers).map(([name, value]) => [name.replaceAll('_', ' '), value]),
      ),
    ]);
  },
});
