import type { ReportType } from './report-type';

/** The numbers of requests and tokens in some part of a period. */
export interface Counts {
  entries: number;
  requests: number;
  approved: number;
  denied: number;
  expired: number;
  tokens_issued: number;
  tokens_used: number;
  tokens_revoked: number;
}

/** A sentence, and the audit entries behind it: all of them, or the first few where `entries` says that there are more. */
export interface Finding {
  text: string;
  /** How many entries are behind it. */
  entries: number;
  entry_ids: string[];
}

/** What the log holds for one control of a framework. */
export interface Control {
  id: string;
  title: string;
  evidence: Finding[];
  /** What the control asks for and the log cannot show. */
  not_covered: string;
}

/** Something that deserves an auditor's eye. */
export interface ReportException {
  kind: string;
  severity: 'low' | 'medium' | 'high';
  text: string;
  /** How many entries are behind it. */
  entries: number;
  entry_ids: string[];
}

export interface AgentFigures {
  agent_id: string;
  name: string;
  counts: Counts;
}

/** Who decided how much: one policy, or the account's people, by which whoever holds a user token is meant. */
export interface DeciderFigures {
  decided_by: string;
  kind: 'person' | 'policy';
  /** Of a policy that still exists. */
  name: string | null;
  approved: number;
  denied: number;
}

/** A change of a key or of the configuration, as the account activity has it. */
export interface ActivityRecord {
  id: string;
  at: string;
  action: string;
  actor: string | null;
  target: string;
  changes: string[];
}

/** An audit entry of the sample, as GET /v1/audit/:id shows it. */
export interface SampledEntry {
  id: string;
  sequence: number;
  user_id: string;
  agent_id: string;
  permission_request_id: string;
  event_type: string;
  details: Record<string, unknown>;
  ip_address: string;
  user_agent: string;
  created_at: string;
}

/** A tree of RFC 9162 over the first entries of a log. */
export interface TreeOfLog {
  tree_size: number;
  /** In hexadecimal. */
  root_hash: string;
}

/** A compliance report: the JSON form as it stands, and what the PDF shows. Times are ISO 8601, days YYYY-MM-DD. */
export interface ComplianceReport {
  report_id: string;
  report_type: ReportType;
  /** The name of the framework, for people. */
  framework: string;
  account: { id: string; name: string | null; plan: string };
  period: { start: string; end: string };
  generated_at: string;
  /** What the report is and is not: evidence, not attestation. */
  statement: string;
  /** The Merkle tree of the log as the report found it; null where the log could not be sealed. */
  integrity: TreeOfLog | null;
  /** Paragraphs: what was looked at, and how. */
  scope: string[];
  method: string[];
  summary: Counts & {
    by_event_type: Record<string, number>;
    agents: number;
    approved_by_person: number;
    approved_by_policy: number;
    denied_by_person: number;
    denied_by_policy: number;
  };
  /** One a calendar month (`YYYY-MM`) of the period, also where nothing happened. */
  months: ({ month: string } & Counts)[];
  /** Agents with entries in the period, most requests first. */
  agents: AgentFigures[];
  deciders: DeciderFigures[];
  controls: Control[];
  exceptions: ReportException[];
  activity: {
    /** How many records of each action the period has. */
    by_action: Record<string, number>;
    /** The newest of them, of the actions that concern keys and configuration. */
    key_rotations: ActivityRecord[];
    configuration_changes: ActivityRecord[];
  };
  /** Entries drawn by a random order that the report's id determines. */
  sample: SampledEntry[];
}
