import { UserError } from '../user-error.ts';
import type { Deployment, Step } from './deployment.ts';
import { printStep } from './report.ts';
import { domainSteps, subdomainSteps } from './steps/address.ts';
import { bucketSteps } from './steps/bucket.ts';
import { codeStep } from './steps/code.ts';
import { configurationStep } from './steps/configuration.ts';
import { databaseSteps } from './steps/databases.ts';
import { firstAccountStep, type Invitation } from './steps/first-account.ts';
import { healthStep } from './steps/health.ts';
import { migrationSteps } from './steps/migrations.ts';
import { queueSteps } from './steps/queues.ts';
import { secretSteps } from './steps/secrets.ts';

/**
 * Runs the steps of a deployment in their order, and prints a line for each. Steps that are done
 * are not run.
 * @throws UserError that names the step that failed, and says what to do
 */
export async function runSteps(
  deployment: Deployment,
  show: (invitation: Invitation) => void,
): Promise<void> {
  const { options, migrations } = deployment;
  const makeSteps: (() => Step[])[] = [
    () => databaseSteps(deployment),
    () => bucketSteps(deployment),
    () => queueSteps(deployment),
    () => subdomainSteps(deployment),
    () => secretSteps(deployment),
    () => [configurationStep(deployment)],
    () => migrationSteps(deployment),
    () => [codeStep(deployment)],
    () => domainSteps(deployment),
    () => (options.isDryRun ? [] : [healthStep(deployment)]),
    () => (options.email === null ? [] : [firstAccountStep(deployment, show)]),
  ];
  // A step may need what those before it made.
  for (const make of makeSteps) {
    for (const step of make()) await runStep(step, options.isDryRun);
  }
  for (const { name, reason } of migrations.held) {
    printStep(
      'waits',
      'contraction',
      `${name}: applied by a deployment after this version has run (${reason})`,
    );
  }
}

async function runStep(step: Step, isDryRun: boolean): Promise<void> {
  if (step.isDone) return printStep('exists', step.kind, step.name);
  if (isDryRun) return printStep('planned', step.kind, step.name);
  try {
    const { note, isUnchanged } = (await step.run()) ?? {};
    printStep(
      isUnchanged ? 'exists' : 'made',
      step.kind,
      [step.name, note].filter(Boolean).join(': '),
    );
    step.finish?.();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    printStep('failed', step.kind, step.name);
    throw new UserError([error.message, step.hint, CONTINUE].filter(Boolean).join('\n\n'));
  }
}

const CONTINUE = 'The steps above are complete. Run the same command again: it continues here.';
