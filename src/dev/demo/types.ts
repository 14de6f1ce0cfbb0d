import type { Permission } from '../../client/api.ts';
import type { Countersign } from '../../client/countersign.ts';
import type { DemoAgent, RequestTemplate, Verdict } from './cast.ts';

/** A registered agent of the demo. */
export interface Actor {
  role: DemoAgent;
  id: string;
  name: string;
  /** A client with the agent's key. */
  api: Countersign;
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
