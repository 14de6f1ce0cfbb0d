import { requireUser } from '../../http/access';
import { assertLoaded, selectActivePolicies } from '../../policies/policy';
import { PolicySimulation, Simulation, simulatePolicies } from '../../policies/simulate';
import { defineTool } from '../tool';

export const simulatePolicyTool = defineTool({
  name: 'simulate_policy',
  title: 'Simulate the policies',
  description:
    'Show what the active policies would decide about a request: approve, deny, review (by how many people), or pending ' +
    'if a person has to decide. exhausted lists the policies that have expired or used up their budget. Nothing is asked ' +
    'or written.',
  annotations: { readOnlyHint: true },
  admit: (principal) => requireUser(principal, 'policies:read'),
  input: PolicySimulation,
  output: Simulation,
  preload: ({ account }) => ({ policies: selectActivePolicies(account) }),
  async run({ context, input, loaded }) {
    return {
      nextStep:
        'This is only what would happen. Policies are changed in the console or with the HTTP API.',
      data: await simulatePolicies(context, { policies: assertLoaded(loaded.policies), ...input }),
    };
  },
});
