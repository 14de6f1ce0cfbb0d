import type { Framework } from '../findings';

/** HIPAA Security Rule, 45 CFR part 164, subpart C. */
export const hipaa: Framework = (findings) => {
  const { agents, gate, limits, policies, keys, log, retention } = findings;
  const { approvals, denials, tokens, uses, unused, revocations, retries } = findings;
  const { agentChanges, policyChanges, rotations, disclosures } = findings;
  return [
    {
      id: '164.308(a)(4)',
      title: 'Information access management: policies and procedures for authorizing access to ePHI',
      evidence: [gate, policies, approvals, denials, policyChanges],
      not_covered:
        'Which resources hold electronic protected health information; the written policies and procedures; isolation of ' +
        'clearinghouse functions; access of the workforce that does not go through an agent.',
    },
    {
      id: '164.312(a)',
      title: 'Access control: access for those persons or software programs that have been granted access rights',
      evidence: [agents, limits, tokens, unused, revocations, keys, rotations, agentChanges],
      not_covered:
        'Encryption and decryption of ePHI, emergency access and automatic logoff in the systems that hold it. An agent has ' +
        'a unique identity; the person on whose behalf it acts is known only where the request says so.',
    },
    {
      id: '164.312(b)',
      title: 'Audit controls: mechanisms that record and examine activity',
      evidence: [log, uses, retries, retention, disclosures],
      not_covered:
        'What was read or changed with a token: the log records that it was used, the system that it was used at records ' +
        'what for. Attempts that fail authentication and uses of tokens that were refused leave no entry. Regular review of records (164.308(a)(1)(ii)(D)), and the six years for which documentation is to be kept where ' +
        'the retention of the account is shorter.',
    },
  ];
};
