import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { REMOTE_CONFIG, ROOT } from '../../project.ts';
import { callWrangler } from '../call-wrangler.ts';
import type { Deployment, Step, StepResult } from '../deployment.ts';
import { versionTag } from '../version-tag.ts';
import { describeVersion } from './configuration.ts';
import { consumesAll } from './queues.ts';
import { missingSecrets, readSecrets } from './secrets.ts';

/** The secrets of one upload, for wrangler. Removed after it. */
const UPLOADED_SECRETS = '.wrangler/uploaded-secrets.json';

/**
 * Deploys the code, with the secrets that the Worker lacks, its crons and its place as consumer of
 * the queues.
 */
export function codeStep(deployment: Deployment): Step {
  const { configuration, found, databases, address, signal } = deployment;
  const isKnown = databases.every(({ id }) => id !== null);
  const tag = isKnown ? versionTag(describeVersion(deployment)) : null;
  const { worker } = found;
  const crons = configuration.triggers?.crons ?? [];
  const isDeployed =
    worker !== null &&
    worker.versions.length > 0 &&
    worker.versions.every((version) => version.tag === tag);
  const isTriggered =
    worker !== null &&
    crons.length === worker.crons.length &&
    crons.every((cron) => worker.crons.includes(cron)) &&
    worker.servesWorkersDev === (address.domain === null) &&
    consumesAll(configuration, found);
  return {
    kind: 'code',
    name: tag ? `version ${tag}` : 'a new version',
    isDone: isDeployed && isTriggered && missingSecrets(worker).length === 0,
    run: () => deploy(tag ?? versionTag(describeVersion(deployment))),
    hint: 'The version before keeps running, on the new schema, until a new one is deployed.',
  };

  async function deploy(tag: string): Promise<StepResult> {
    const known = readSecrets();
    const missing = Object.fromEntries(missingSecrets(worker).map((name) => [name, known[name]]));
    const file = join(ROOT, UPLOADED_SECRETS);
    const words = [
      'deploy',
      '--config',
      REMOTE_CONFIG,
      '--tag',
      tag,
      '--message',
      'npm run deploy',
    ];
    try {
      if (Object.keys(missing).length > 0) {
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, JSON.stringify(missing), { mode: 0o600 });
        words.push('--secrets-file', UPLOADED_SECRETS);
      }
      await callWrangler(words, signal);
    } finally {
      rmSync(file, { force: true });
    }
    return isKnown ? {} : { note: `version ${tag}` };
  }
}
