import { requireUser } from '../../http/access';
import { requireLoaded } from '../../permissions/policies/policy';
import {
  PolicySimulation,
  Simulation,
  selectPoliciesForAgent,
  simulatePolicies,
} from '../../permissions/policies/simulate';
import { defineTool } from '../tool';

export const simulatePolicyTool = defineTool({
  name: 'simulate_policy',
  title: 'Simulate the policies',
  description:
    'Show what the active policies would decide about a request: approve, deny, review (by how many people), or pending ' +
    'if a person has to decide. Nothing is asked or written.',
  annotations: { readOnlyHint: true },
  admit: (principal) => requireUser(principal, 'policies:read'),
  input: PolicySimulation,
  output: Simulation,
  preload: ({ reader, account, fields }) => ({ policies: selectPoliciesForAgent(reader, account, fields.agent_id) }),
  async run({ input, loaded }) {
    return {
      nextStep: 'This is only what would happen. Policies are changed in the console or with the HTTP API.',
      data: simulatePolicies({ policies: requireLoaded(loaded.policies), ...input }),
    };
  },
});
