import type { Framework } from '../findings';

/** Regulation (EU) 2016/679. */
export const gdpr: Framework = (findings) => {
  const { agents, gate, limits, policies, keys, log, retention } = findings;
  const { requests, approvals, denials, uses, unused, revocations } = findings;
  const { agentChanges, policyChanges, rotations, disclosures } = findings;
  return [
    {
      id: 'Art. 30',
      title: 'Records of processing activities',
      evidence: [agents, requests, uses, agentChanges, disclosures],
      not_covered:
        'The record itself: purposes, categories of data subjects and of personal data, recipients, transfers and time ' +
        'limits are for the controller to state. The log can feed it with which agent asked for which action on which resource.',
    },
    {
      id: 'Art. 32',
      title: 'Security of processing',
      evidence: [
        gate,
        limits,
        policies,
        approvals,
        denials,
        unused,
        revocations,
        policyChanges,
        keys,
        rotations,
        log,
        retention,
      ],
      not_covered:
        'The assessment of the risk, pseudonymization and encryption of personal data, restoring availability, and regular ' +
        'testing. Whether measures are appropriate to the risk is not a matter of figures. Entries may hold personal ' +
        'data themselves: addresses, resources and reasons.',
    },
  ];
};
