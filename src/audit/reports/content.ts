import type { ReportType } from './report';

/** The number of entries, requests and tokens, of one agent, one month or the whole period. */
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

/** The audit entries that support a sentence. */
export interface EntryReferences {
  /** How many entries there are. */
  entries: number;
  /** Their ids; if there are many, those of the first few, or of the first and the last. */
  entry_ids: string[];
}

/** A sentence and the audit entries that support it. */
export interface Finding extends EntryReferences {
  text: string;
}

/** A control of a framework and what the log shows about it. */
export interface Control {
  id: string;
  title: string;
  evidence: Finding[];
  /** The part of the control for which the log has no evidence. */
  not_covered: string;
}

/** Something that an auditor should look at. */
export interface ReportException extends Finding {
  kind: string;
  severity: 'low' | 'medium' | 'high';
}

export interface AgentFigures {
  agent_id: string;
  name: string;
  counts: Counts;
}

/** How many requests a decider decided: one policy, or all holders of the account's user tokens together. */
export interface DeciderFigures {
  decided_by: string;
  kind: 'person' | 'policy';
  /** The policy's name; null for people and for deleted policies. */
  name: string | null;
  approved: number;
  denied: number;
}

/** A change to a key or to the configuration, from the account activity. */
export interface ActivityRecord {
  id: string;
  at: string;
  action: string;
  actor: string | null;
  target: string;
  changes: string[];
}

/** An audit entry of the sample, in the form of GET /v1/audit/:id. */
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

/** The Merkle tree (RFC 9162) over the first `tree_size` entries of a log. */
export interface LogTree {
  tree_size: number;
  /** In hexadecimal. */
  root_hash: string;
}

/**
 * The content of a compliance report: the JSON form as it is, and the input of the PDF. Times are ISO 8601, days
 * YYYY-MM-DD.
 */
export interface ReportContent {
  report_id: string;
  report_type: ReportType;
  /** The framework's name, for people to read. */
  framework: string;
  account: { id: string; name: string | null; plan: string };
  period: { start: string; end: string };
  generated_at: string;
  /** Says that the report is evidence and not attestation. */
  statement: string;
  /** The log's tree when the report was requested; null if the log could not be sealed. */
  integrity: LogTree | null;
  /** Paragraphs on what the report covers. */
  scope: string[];
  /** Paragraphs on how the figures were computed. */
  method: string[];
  summary: Counts & {
    by_event_type: Record<string, number>;
    agents: number;
    approved_by_person: number;
    approved_by_policy: number;
    denied_by_person: number;
    denied_by_policy: number;
  };
  /** Every calendar month (`YYYY-MM`) of the period, including months without entries. */
  months: ({ month: string } & Counts)[];
  /** Agents with entries in the period, most requests first. */
  agents: AgentFigures[];
  deciders: DeciderFigures[];
  controls: Control[];
  exceptions: ReportException[];
  activity: {
    /** The number of records in the period by action. */
    by_action: Record<string, number>;
    /** The newest key rotations. */
    key_rotations: ActivityRecord[];
    /** The newest changes to agents, policies, user tokens and the account. */
    configuration_changes: ActivityRecord[];
  };
  /** Entries drawn in a pseudo-random order that the report's id determines. */
  sample: SampledEntry[];
}
