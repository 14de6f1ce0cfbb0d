import type { Framework } from '../findings';

/** ISO/IEC 27001:2022, Annex A. */
export const iso27001: Framework = (findings) => {
  const { agents, gate, limits, policies, keys, log, retention } = findings;
  const { requests, approvals, denials, uses, unused, revocations, retries } = findings;
  const { agentChanges, policyChanges, tokenChanges, rotations, disclosures } = findings;
  return [
    {
      id: 'A.5.15',
      title: 'Access control',
      evidence: [gate, policies, requests, approvals, denials],
      not_covered:
        'The topic-specific policy on access control itself, and that the rules set here follow it; physical access; ' +
        'systems that do not ask for a token.',
    },
    {
      id: 'A.5.16',
      title: 'Identity management',
      evidence: [agents, agentChanges],
      not_covered:
        'The life cycle of people’s identities; who is accountable for each agent, unless it is written in the agent’s ' +
        'description or metadata.',
    },
    {
      id: 'A.5.17',
      title: 'Authentication information',
      evidence: [keys, rotations, tokenChanges],
      not_covered:
        'How agents and people keep their keys and tokens once they have them; strength and handling of passwords, which this ' +
        'service does not have.',
    },
    {
      id: 'A.5.18',
      title: 'Access rights',
      evidence: [approvals, unused, revocations, policyChanges],
      not_covered:
        'The review of access rights at planned intervals: policies are standing rights, and the log shows what changed ' +
        'them, not who reviewed them. Adjustment when somebody changes job or leaves.',
    },
    {
      id: 'A.8.2',
      title: 'Privileged access rights',
      evidence: [limits, tokenChanges, agentChanges],
      not_covered:
        'Which actions count as privileged is for the organization to say; the log names each action. The operator of the service ' +
        'and administrators of the hosting platform.',
    },
    {
      id: 'A.8.15',
      title: 'Logging',
      evidence: [log, retention, uses, retries, disclosures],
      not_covered:
        'Logs of the systems that agents act on; synchronization of their clocks; that logs are analysed. Attempts that fail ' +
        'authentication and uses of tokens that were refused leave no entry.',
    },
  ];
};
