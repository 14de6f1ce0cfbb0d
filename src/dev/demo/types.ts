import type { Api } from '../api.ts';
import type { DemoAgent, RequestTemplate, Verdict } from './cast.ts';

/** The fields of a permission that the demo uses. */
export interface Permission {
  id: string;
  action: string;
  resource: string;
  status: 'pending' | 'approved' | 'denied' | 'expired';
  token: { id: string; status: string; value?: string } | null;
}

/** The fields of an audit entry that the demo uses. */
export interface AuditEntry {
  sequence: number;
  event_type: string;
  details: { decision_reason: string | null };
  created_at: string;
}

/** A registered agent of the demo. */
export interface Actor {
  role: DemoAgent;
  id: string;
  name: string;
  /** A client with the agent's key. */
  api: Api;
}

/** An agent's request, and the user's planned decision. */
export interface PlannedRequest {
  actor: Actor;
  template: RequestTemplate;
  /** As it was last read. */
  permission: Permission;
  verdict: Verdict;
  remark: string;
}
