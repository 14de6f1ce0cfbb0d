import type { Api } from '../api.ts';
import type { Duty, Role, Verdict } from './cast.ts';

/** A permission in the service's answers, as far as the demo looks. */
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

/** An entry of the audit log, as far as the demo looks. */
export interface AuditEntry {
  sequence: number;
  agent_id: string;
  event_type: string;
  details: { action: string; resource: string; decision_reason: string | null };
  created_at: string;
}

/** An agent of the demo, registered. */
export interface Actor {
  role: Role;
  id: string;
  name: string;
  /** The service with the agent's key. */
  api: Api;
}

/** A request of an agent, and what the user is going to say to it. */
export interface Request {
  actor: Actor;
  duty: Duty;
  permission: Permission;
  verdict: Verdict;
  remark: string;
}
