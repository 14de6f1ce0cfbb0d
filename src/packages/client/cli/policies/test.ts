import { present } from '../../present.ts';
import { command } from '../command.ts';
import { printRecord } from '../print.ts';
import { readGiven, readJsonObject } from '../values.ts';

const MEANING: Record<string, string> = {
  approve: 'approve: a policy approves it at once',
  deny: 'deny: a policy denies it at once',
  review: 'review: a policy sends it to reviewers',
  pending: 'pending: no policy decides, it waits for a person',
};

export const testPolicies = command({
  name: 'policies test',
  description:
    'Tells what the policies would do with a request. Nothing is asked and nothing is written.',
  args: {
    action: {
      type: 'string',
      description: 'What the agent wants to do',
      valueHint: 'email.send',
      isRequired: true,
    },
    resource: {
      type: 'string',
      description: 'What it does it to',
      valueHint: 'mailbox:support',
      isRequired: true,
    },
    scope: { type: 'string', description: 'The limits', valueHint: 'JSON' },
    agent: {
      type: 'string',
      description: 'The id of the agent; else policies for certain agents do not apply',
    },
  },
  examples: [
    `countersign policies test --action email.send --resource mailbox:support --scope '{"max_recipients": 5}'`,
  ],
  async run({ args, session }) {
    const { action, resource, scope, agent } = args;
    const simulation = await session.client.simulatePolicies({
      action,
      resource,
      ...present({
        agent_id: agent,
        scope: readGiven(readJsonObject, scope, '--scope'),
      }),
    });
    const { decision, policy_id, matched, exhausted, reviewers, approvals } = simulation;
    await printRecord(session, simulation, () =>
      session.facts([
        ['Decision', MEANING[decision] ?? decision],
        ['Policy', policy_id],
        ['Applying', matched.join(', ')],
        ['Exhausted', exhausted.join(', ')],
        ['Approvals', approvals && `${approvals} of ${reviewers} reviewers`],
      ]),
    );
  },
});
