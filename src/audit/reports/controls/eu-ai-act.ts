import type { Framework } from '../findings';

/** Regulation (EU) 2024/1689; articles 12, 14 and 26 bind high-risk AI systems. */
export const euAiAct: Framework = (findings) => {
  const { gate, limits, policies, log, retention } = findings;
  const { requests, human, automatic, quick, denials, uses, undecided, revocations, retries } = findings;
  const { agentChanges, policyChanges, disclosures } = findings;
  return [
    {
      id: 'Art. 12',
      title: 'Record-keeping: automatic recording of events over the lifetime of the system',
      evidence: [log, requests, uses, retention],
      not_covered:
        'Events within the AI system: inputs, outputs, reference databases and versions of the model. Recording covers what an ' +
        'agent asked for and was allowed, for as long as the plan keeps it. Whether the system is high-risk.',
    },
    {
      id: 'Art. 14',
      title: 'Human oversight',
      evidence: [gate, limits, human, automatic, quick, denials, revocations],
      not_covered:
        'Whether it was a person who decided: a program can hold a user token. Whether the people who decided understood the ' +
        'system, were aware of automation bias and could interpret its output: the log shows that it was decided, when and how fast. What a policy decided no person saw beforehand.',
    },
    {
      id: 'Art. 26',
      title: 'Obligations of deployers of high-risk AI systems',
      evidence: [policies, undecided, retries, agentChanges, policyChanges, disclosures, log],
      not_covered:
        'Use by the provider’s instructions, competence of those who oversee, quality of input data, information of workers ' +
        'and of affected people, and the reporting of serious incidents. Logs are to be kept for at least six months ' +
        '(paragraph 6): see what the account keeps.',
    },
  ];
};
