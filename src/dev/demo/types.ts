import type { Api } from '../api.ts';
import type { DemoAgent, DemoRequest, Verdict } from './cast.ts';

/** The fields of a permission that the demo uses. */
export interface Permission {
  id: string;
  agent_id: string;
  action: string;
  resource: string;
  status: 'pending' | 'approved' | 'denied' | 'expired';
  token: { id: string; status: string; max_uses: number; uses: number; value?: string } | null;
}

/** A page of a list. */
export interface Page<T> {
  data: T[];
  has_more: boolean;
  next_cursor: string | null;
}

/** The fields of an audit entry that the demo uses. */
export interface AuditEntry {
  sequence: number;
  agent_id: string;
  event_type: string;
  details: { action: string; resource: string; decision_reason: string | null };
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
export interface Request {
  actor: Actor;
  duty: DemoRequest;
  permission: Permission;
  verdict: Verdict;
  remark: string;
}
