import type { Tenant } from '../support/local/tenant.ts';
import type { History } from './history.ts';

/** An account whose history is in the database. */
export interface LoadedTenant extends Tenant {
  /** The numbers of the account and of its agents in the database. */
  number: number;
  agentNumbers: number[];
  history: History;
}
