import type { Findings, Framework } from '../findings';
import type { Control, Finding } from '../report';

/** What the trust services criteria (AICPA TSC 2017, with the points of focus of 2022) ask for, as far as it is of agents. */
interface Criterion {
  id: string;
  title: string;
  /** What shows how the control is designed. */
  design: (findings: Findings) => Finding[];
  /** What shows how it operated. */
  operation: (findings: Findings) => Finding[];
  not_covered: string;
}

const CRITERIA: Criterion[] = [
  {
    id: 'CC6.1',
    title: 'Logical access security software, infrastructure and architectures protect information assets',
    design: ({ agents, gate, limits, policies }) => [agents, gate, limits, policies],
    operation: ({ requests, tokens, uses }) => [requests, tokens, uses],
    not_covered:
      'Whether the systems that agents act on check the token before they act; access that does not go through the ' +
      'service; encryption, network segmentation and the protection of the hosting platform.',
  },
  {
    id: 'CC6.2',
    title:
      'Users are registered and authorized before credentials are issued, and removed when access is no longer authorized',
    design: ({ agents, keys }) => [agents, keys],
    operation: ({ agentChanges, tokenChanges, rotations }) => [agentChanges, tokenChanges, rotations],
    not_covered:
      'Who in the organization approved that an agent be registered; the identity of the people behind user tokens, ' +
      'and their joining and leaving; periodic review of who holds a token.',
  },
  {
    id: 'CC6.3',
    title: 'Access is authorized, modified or removed by role, least privilege and segregation of duties',
    design: ({ gate, limits, policies }) => [gate, limits, policies],
    operation: ({ approvals, denials, unused, revocations, policyChanges }) => [
      ...[approvals, denials, unused, revocations, policyChanges],
    ],
    not_covered:
      'Segregation of duties among people: the log records their decisions under the account, not under a person. Whether ' +
      'each grant was the least that the task needed is a judgement on the sample, not a figure.',
  },
  {
    id: 'CC6.6',
    title: 'Logical access security measures against threats from sources outside the system boundaries',
    design: ({ agents, limits }) => [agents, limits],
    operation: ({ uses, revocations, log }) => [uses, revocations, log],
    not_covered:
      'Attempts with unknown, expired or revoked credentials: they are refused and leave no entry ' +
      'in this log. Firewalls, intrusion detection and the boundary of other systems.',
  },
  {
    id: 'CC7.2',
    title: 'System components are monitored for anomalies that are indicative of malicious acts, disasters and errors',
    design: ({ log, retention }) => [log, retention],
    operation: ({ denials, retries, quick }) => [denials, retries, quick],
    not_covered:
      'Attempts that fail authentication and uses of tokens that were refused: they leave no entry. Whether anybody looked at ' +
      'the log during the period and was alerted; availability, capacity and infrastructure ' +
      'monitoring. The exceptions of this report are found when it is made, not when they occur.',
  },
  {
    id: 'CC7.3',
    title: 'Security events are evaluated to determine whether they are failures to meet objectives, and acted upon',
    design: ({ gate, log }) => [gate, log],
    operation: ({ denials, revocations, undecided, agentChanges }) => [denials, revocations, undecided, agentChanges],
    not_covered:
      'How an event was evaluated, classified and communicated: the reasons in the entries are what people wrote. Incident ' +
      'records are kept elsewhere.',
  },
];

/** SOC 2 type 1: how the controls are designed, at a point in time. One kind of entry shows that the design exists. */
export const soc2Type1: Framework = (findings) =>
  CRITERIA.map((criterion) => present(criterion, [...criterion.design(findings), ...illustrate(criterion, findings)]));

/** SOC 2 type 2: how the controls operated throughout the period. */
export const soc2Type2: Framework = (findings) =>
  CRITERIA.map((criterion) => present(criterion, [...criterion.operation(findings), ...criterion.design(findings)]));

function illustrate({ operation }: Criterion, findings: Findings): Finding[] {
  const examples = operation(findings).filter(({ entries }) => entries > 0);
  return examples
    .toSorted((a, b) => b.entries - a.entries)
    .slice(0, 1)
    .map(({ text, ...proof }) => ({
      text: `To illustrate the design, and not as evidence that it operated: ${text}`,
      ...proof,
    }));
}

function present({ id, title, not_covered }: Criterion, evidence: Finding[]): Control {
  // What one criterion is shown by twice is said once.
  return { id, title, evidence: [...new Set(evidence)], not_covered };
}
