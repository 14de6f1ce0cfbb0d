import type { ReportType } from './report';
import type { FindingName } from './write-findings';

/**
 * A control of a framework, and which findings a report has as evidence for it: see
 * {@link FindingName}.
 */
export interface ControlDefinition {
  id: string;
  title: string;
  evidence: FindingName[];
  /**
   * After the evidence comes the one of these findings that has the most entries; none if none has
   * entries.
   */
  illustrations?: FindingName[];
  /** The part of the control for which the service has no evidence. */
  not_covered: string;
}

/** A control of SOC 2, with separate findings about its design and about its operation. */
type Criterion = Omit<ControlDefinition, 'evidence' | 'illustrations'> &
  Record<'design' | 'operation', FindingName[]>;

/**
 * The AICPA trust services criteria of 2017, with the points of focus of 2022, that concern the
 * access of agents.
 */
const TRUST_SERVICES_CRITERIA: Criterion[] = [
  {
    id: 'CC6.1',
    title:
      'Logical access security software, infrastructure and architectures protect information assets',
    design: ['agents', 'gate', 'limits', 'policies'],
    operation: ['requests', 'tokens', 'uses'],
    not_covered:
      'Whether the systems that agents act on check the token before they act; access that does not go through the ' +
      'service; encryption, network segmentation and the protection of the hosting platform.',
  },
  {
    id: 'CC6.2',
    title:
      'Users are registered and authorized before credentials are issued, and removed when access is no longer authorized',
    design: ['agents', 'keys'],
    operation: ['agentChanges', 'memberChanges', 'tokenChanges', 'rotations'],
    not_covered:
      'Who in the organization approved that an agent be registered; who the people are that joined as members, and that hold the ' +
      'account’s own user tokens; periodic review of who holds a token.',
  },
  {
    id: 'CC6.3',
    title:
      'Access is authorized, modified or removed by role, least privilege and segregation of duties',
    design: ['gate', 'limits', 'policies', 'reviewPolicies'],
    operation: [
      'approvals',
      'reviews',
      'signatures',
      'ownerApprovals',
      'series',
      'unreviewed',
      'denials',
      'unused',
      'revocations',
      'policyChanges',
    ],
    not_covered:
      'Segregation of duties where the account’s own user tokens decided: they name no person. Whether two members are two people, and ' +
      'who else could use their credentials. Whether each grant was the least that the task needed is a judgement on the sample, ' +
      'not a figure.',
  },
  {
    id: 'CC6.6',
    title:
      'Logical access security measures against threats from sources outside the system boundaries',
    design: ['agents', 'limits'],
    operation: ['uses', 'revocations', 'log'],
    not_covered:
      'Attempts with unknown, expired or revoked credentials: they are refused and leave no entry ' +
      'in this log. Firewalls, intrusion detection and the boundary of other systems.',
  },
  {
    id: 'CC7.2',
    title:
      'System components are monitored for anomalies that are indicative of malicious acts, disasters and errors',
    design: ['log', 'retention'],
    operation: ['denials', 'retries', 'quick'],
    not_covered:
      'Attempts that fail authentication and uses of tokens that were refused: they leave no entry. Whether anybody looked at ' +
      'the log during the period and was alerted; availability, capacity and infrastructure ' +
      'monitoring. The exceptions of this report are found when it is made, not when they occur.',
  },
  {
    id: 'CC7.3',
    title:
      'Security events are evaluated to determine whether they are failures to meet objectives, and acted upon',
    design: ['gate', 'log'],
    operation: ['denials', 'revocations', 'undecided', 'agentChanges'],
    not_covered:
      'How an event was evaluated, classified and communicated: the reasons in the entries are what people wrote. Incident ' +
      'records are kept elsewhere.',
  },
];

/** A type 1 report is about the design of controls. */
const SOC2_TYPE1 = TRUST_SERVICES_CRITERIA.map(({ design, operation, ...control }) => {
  return { ...control, evidence: design, illustrations: operation };
});

/** A type 2 report is about their operation too. */
const SOC2_TYPE2 = TRUST_SERVICES_CRITERIA.map(({ design, operation, ...control }) => {
  return { ...control, evidence: [...operation, ...design] };
});

const ISO_27001: ControlDefinition[] = [
  {
    id: 'A.5.3',
    title: 'Segregation of duties',
    evidence: [
      'reviewPolicies',
      'reviews',
      'signatures',
      'ownerApprovals',
      'series',
      'unreviewed',
      'policyChanges',
    ],
    not_covered:
      'Which duties conflict is for the organization to say. Decisions with the account’s own user tokens name no person. Whether two ' +
      'members are two people, and who else could use their credentials. The duties of the operator of the service.',
  },
  {
    id: 'A.5.15',
    title: 'Access control',
    evidence: ['gate', 'policies', 'requests', 'approvals', 'denials'],
    not_covered:
      'The topic-specific policy on access control itself, and that the rules set here follow it; physical access; ' +
      'systems that do not ask for a token.',
  },
  {
    id: 'A.5.16',
    title: 'Identity management',
    evidence: ['agents', 'agentChanges', 'memberChanges'],
    not_covered:
      'The life cycle of people’s identities outside of the account; who is accountable for agents without an owner, unless it is ' +
      'written in the agent’s description or metadata.',
  },
  {
    id: 'A.5.17',
    title: 'Authentication information',
    evidence: ['keys', 'rotations', 'tokenChanges'],
    not_covered:
      'How agents and people keep their keys and tokens once they have them; strength and handling of passwords, which this ' +
      'service does not have.',
  },
  {
    id: 'A.5.18',
    title: 'Access rights',
    evidence: ['approvals', 'unused', 'revocations', 'policyChanges', 'memberChanges'],
    not_covered:
      'The review of access rights at planned intervals: policies are standing rights, and the log shows what changed ' +
      'them, not who reviewed them. Whether access was adjusted when somebody changed job or left.',
  },
  {
    id: 'A.8.2',
    title: 'Privileged access rights',
    evidence: ['limits', 'tokenChanges', 'agentChanges'],
    not_covered:
      'Which actions count as privileged is for the organization to say; the log names each action. The operator of the service ' +
      'and administrators of the hosting platform.',
  },
  {
    id: 'A.8.15',
    title: 'Logging',
    evidence: ['log', 'retention', 'uses', 'retries', 'disclosures'],
    not_covered:
      'Logs of the systems that agents act on; synchronization of their clocks; that logs are analysed. Attempts that fail ' +
      'authentication and uses of tokens that were refused leave no entry.',
  },
];

const HIPAA: ControlDefinition[] = [
  {
    id: '164.308(a)(4)',
    title: 'Information access management: policies and procedures for authorizing access to ePHI',
    evidence: ['gate', 'policies', 'approvals', 'denials', 'policyChanges'],
    not_covered:
      'Which resources hold electronic protected health information; the written policies and procedures; isolation of ' +
      'clearinghouse functions; access of the workforce that does not go through an agent.',
  },
  {
    id: '164.312(a)',
    title:
      'Access control: access for those persons or software programs that have been granted access rights',
    evidence: [
      'agents',
      'limits',
      'tokens',
      'unused',
      'revocations',
      'keys',
      'rotations',
      'agentChanges',
    ],
    not_covered:
      'Encryption and decryption of ePHI, emergency access and automatic logoff in the systems that hold it. An agent has ' +
      'a unique identity; the person on whose behalf it acts is known only where the request says so.',
  },
  {
    id: '164.312(b)',
    title: 'Audit controls: mechanisms that record and examine activity',
    evidence: ['log', 'uses', 'retries', 'retention', 'disclosures'],
    not_covered:
      'What was read or changed with a token: the log records that it was used, and the system where it was used records ' +
      'what for. Attempts that fail authentication and uses of tokens that were refused leave no entry. Regular review of records (164.308(a)(1)(ii)(D)), and the six years for which documentation is to be kept where ' +
      'the retention of the account is shorter.',
  },
];

const GDPR: ControlDefinition[] = [
  {
    id: 'Art. 30',
    title: 'Records of processing activities',
    evidence: ['agents', 'requests', 'uses', 'agentChanges', 'disclosures'],
    not_covered:
      'The record itself: purposes, categories of data subjects and of personal data, recipients, transfers and time ' +
      'limits are for the controller to state. The log can feed it with which agent asked for which action on which resource.',
  },
  {
    id: 'Art. 32',
    title: 'Security of processing',
    evidence: [
      'gate',
      'limits',
      'policies',
      'approvals',
      'denials',
      'unused',
      'revocations',
      'policyChanges',
      'keys',
      'rotations',
      'log',
      'retention',
    ],
    not_covered:
      'The assessment of the risk, pseudonymization and encryption of personal data, restoring availability, and regular ' +
      'testing. Whether measures are appropriate to the risk is not a matter of figures. Entries may hold personal ' +
      'data themselves: addresses, resources and reasons.',
  },
];

/** These articles bind high-risk AI systems. */
const EU_AI_ACT: ControlDefinition[] = [
  {
    id: 'Art. 12',
    title: 'Record-keeping: automatic recording of events over the lifetime of the system',
    evidence: ['log', 'requests', 'uses', 'retention'],
    not_covered:
      'Events within the AI system: inputs, outputs, reference databases and versions of the model. Recording covers what an ' +
      'agent asked for and was allowed, for as long as the plan keeps it. Whether the system is high-risk.',
  },
  {
    id: 'Art. 14',
    title: 'Human oversight',
    evidence: [
      'gate',
      'limits',
      'human',
      'reviews',
      'signatures',
      'automatic',
      'quick',
      'denials',
      'revocations',
    ],
    not_covered:
      'Whether it was a person who decided, where the decision is not signed: a program can hold a user token. Whether the people who decided understood the ' +
      'system, were aware of automation bias and could interpret its output: the log shows that it was decided, when and how fast. No person saw beforehand what a policy decided.',
  },
  {
    id: 'Art. 26',
    title: 'Obligations of deployers of high-risk AI systems',
    evidence: [
      'policies',
      'undecided',
      'retries',
      'agentChanges',
      'policyChanges',
      'disclosures',
      'log',
    ],
    not_covered:
      'Use by the provider’s instructions, competence of those who oversee, quality of input data, information of workers ' +
      'and of affected people, and the reporting of serious incidents. Logs are to be kept for at least six months ' +
      '(paragraph 6): see what the account keeps.',
  },
];

/** The display name and the controls of each type of report. */
export const FRAMEWORKS: Record<ReportType, { name: string; controls: ControlDefinition[] }> = {
  soc2_type1: { name: 'SOC 2 Type 1 (trust services criteria)', controls: SOC2_TYPE1 },
  soc2_type2: { name: 'SOC 2 Type 2 (trust services criteria)', controls: SOC2_TYPE2 },
  iso27001: { name: 'ISO/IEC 27001:2022, Annex A', controls: ISO_27001 },
  hipaa: { name: 'HIPAA Security Rule (45 CFR 164)', controls: HIPAA },
  gdpr: { name: 'GDPR (Regulation (EU) 2016/679)', controls: GDPR },
  eu_ai_act: { name: 'EU AI Act (Regulation (EU) 2024/1689)', controls: EU_AI_ACT },
};
