import type { MigrationPlan } from '../migrations/plan-migrations.ts';
import type { Address } from './choose-address.ts';
import type { Configuration, TargetDatabase } from './configuration.ts';
import type { Found } from './found.ts';
import type { Login } from './login.ts';
import type { Options } from './options.ts';

/** All that the steps of a deployment know. */
export interface Deployment extends Login {
  options: Options;
  configuration: Configuration;
  /** The resources that the Cloudflare account already has. */
  found: Found;
  address: Address;
  /** The step that makes a database sets its id. */
  databases: TargetDatabase[];
  jurisdiction: string | null;
  migrations: MigrationPlan;
  /** The names of the migrations that a database has, by its binding. */
  applied: Map<string, Set<string>>;
  signal: AbortSignal;
}

/** The result of a step that was run. */
export interface StepResult {
  note?: string;
  /** Whether it found that nothing was to be done. */
  isUnchanged?: boolean;
}

/** One thing that a deployment needs. */
export interface Step {
  /** The kind of thing, in one word or two. */
  kind: string;
  /** Which one. */
  name: string;
  /** Whether it is as it should be. */
  isDone: boolean;
  /** Makes it so. Safe to repeat, also after it took effect and failed. */
  run(): Promise<StepResult> | Promise<void>;
  /** Is called when it was run and its line is printed. */
  finish?(): void;
  /** Tells the operator how to proceed if it fails. */
  hint?: string;
}
