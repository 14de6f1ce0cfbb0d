import type { AuditEntry } from '../audit/entry';
import type { MemberRole } from '../db/schema';
import type { ReportType } from './report';

/**
 * How many entries there are, and how much of what they record: for one agent, one month, or the
 * whole period.
 */
export interface Counts {
  entries: number;
  requests: number;
  approved: number;
  denied: number;
  /** Requests that expired undecided. */
  expired: number;
  tokens_issued: number;
  /** Tokens with a use in the period, each counted at its first use in the period. */
  tokens_used: number;
  tokens_revoked: number;
}

/** The audit entries that support a statement. */
export interface EntryReferences {
  /** How many entries there are. */
  entries: number;
  /** The ids of at most five of them, in the order of the log. */
  entry_ids: string[];
}

/**
 * A statement about the log, with the entries that support it; or about the configuration or
 * activity, without any.
 */
export interface Finding extends EntryReferences {
  text: string;
}

/** A control of a framework, with the evidence that the service has for it. */
export interface Control {
  id: string;
  title: string;
  evidence: Finding[];
  /** The part of the control for which the service has no evidence. */
  not_covered: string;
}

/** An exception in the sense of auditing: something unusual that an auditor should look at. */
export interface ReportException extends Finding {
  /** A code such as `quick_decision`. */
  kind: string;
  severity: 'low' | 'medium' | 'high';
}

export interface AgentFigures {
  agent_id: string;
  name: string;
  counts: Counts;
}

/**
 * How many requests a decider decided: a member, a policy, or all holders of the account's own user
 * tokens together.
 */
export interface DeciderFigures {
  /** The id of the member, the policy or the account. */
  decided_by: string;
  /** `person` for members, and for the account's own user tokens, which name no person. */
  kind: 'person' | 'policy';
  /**
   * The present name of the member or policy; null for the account, members who were erased, and
   * deleted policies.
   */
  name: string | null;
  /**
   * The present role of the member, or the last one of a removed member; null for others and
   * members who were erased.
   */
  role: MemberRole | null;
  /** Requests whose decision it was. Where several people had to approve, the last approval. */
  approved: number;
  denied: number;
  /**
   * The member's votes that did not settle the request, among those of requests that ended in the
   * period.
   */
  voted: number;
  /** How many of its decisions and votes are signed with a passkey. */
  signed: number;
  /**
   * Approvals by series that the member gave, alone or with others: nobody saw the arguments of
   * these acts first. Absent if there are none.
   */
  by_series?: number;
}

/** A record of the account activity, in the form of reports. */
export interface ReportedActivity {
  id: string;
  at: string;
  action: string;
  actor: string | null;
  target: string;
  changes: string[];
}

/** The root of the Merkle tree (RFC 9162) over the first `tree_size` entries of a log. */
export interface LogTree {
  tree_size: number;
  /** In hexadecimal. */
  root_hash: string;
}

/**
 * A compliance report: the JSON form as it is, and the input of the PDF. Times are ISO 8601, days
 * YYYY-MM-DD.
 */
export interface ReportContent {
  report_id: string;
  report_type: ReportType;
  /** The framework's name, for people to read. */
  framework: string;
  /** The account when the report was made. */
  account: { id: string; name: string | null; plan: string };
  period: { start: string; end: string };
  /** When the report was requested. */
  generated_at: string;
  /** Says that the report is evidence and not attestation. */
  statement: string;
  /**
   * The log when the report was requested; null if the log contradicts what was signed of it
   * before.
   */
  integrity: LogTree | null;
  /** Paragraphs on what the report covers. */
  scope: string[];
  /** Paragraphs on how the figures were computed. */
  method: string[];
  summary: Counts & {
    by_event_type: Record<string, number>;
    /** The number of agents with entries. */
    agents: number;
    approved_by_person: number;
    approved_by_policy: number;
    approved_by_series: number;
    denied_by_person: number;
    denied_by_policy: number;
  };
  /**
   * Every calendar month (`YYYY-MM`) that has a day in the period, including months without
   * entries.
   */
  months: ({ month: string } & Counts)[];
  /** Agents with entries in the period, most requests first. */
  agents: AgentFigures[];
  /**
   * The outcomes of the acts whose tokens were used in the period, as their programs say. Acts
   * whose programs promised no report are not counted.
   */
  outcomes: {
    succeeded: number;
    failed: number;
    unknown: number;
    awaited: number;
    /** The first of those whose outcome is unknown, in the order of their uses. */
    unknown_acts: {
      permission_id: string;
      agent_id: string;
      action: string;
      resource: string;
      used_at: string;
      /** The words of the program; null if it did not report. */
      summary: string | null;
    }[];
  };
  /** Most decisions first. */
  deciders: DeciderFigures[];
  controls: Control[];
  /** The most severe first. */
  exceptions: ReportException[];
  activity: {
    /** The number of records by action; actions without records are missing. */
    by_action: Record<string, number>;
    /** The newest key rotations, newest first. */
    key_rotations: ReportedActivity[];
    /** The newest other records, newest first, except those about exports and reports. */
    configuration_changes: ReportedActivity[];
  };
  /**
   * Entries drawn in a pseudo-random order that the report's id determines, in the form of GET
   * /v1/audit/:id.
   */
  sample: AuditEntry[];
}
