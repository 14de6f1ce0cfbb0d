import type { Tenant } from '../support/local/tenant.ts';
import type { History } from './history.ts';

/** An account whose history is in the database. */
export interface LoadedTenant extends Tenant {
  /** The account's number, and those of its agents, inside the database. */
  number: number;
  agentNumbers: number[];
  history: History;
}
