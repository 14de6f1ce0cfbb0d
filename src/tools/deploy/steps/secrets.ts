import { join } from 'node:path';
import { makeSecrets } from '../../local-settings.ts';
import { ROOT } from '../../project.ts';
import { addSettings, readSettings } from '../../settings-file.ts';
import { UserError } from '../../user-error.ts';
import type { Deployment, Step } from '../deployment.ts';
import type { FoundWorker } from '../found.ts';

/** Where the operator finds the secrets of the deployment: Cloudflare does not show them. */
export const SECRETS_FILE = '.deploy.vars';

/** The name of a secret without which the service does not start. */
type SecretName = keyof ReturnType<typeof makeSecrets>;

/** The secrets that this folder knows. */
export function readSecrets(): Partial<Record<SecretName, string>> {
  const { ADMIN_TOKEN, ROOT_SECRET } = readSettings(join(ROOT, SECRETS_FILE));
  return { ...(ADMIN_TOKEN && { ADMIN_TOKEN }), ...(ROOT_SECRET && { ROOT_SECRET }) };
}

/** The secrets that the deployed Worker does not have. */
export function missingSecrets(worker: FoundWorker | null): SecretName[] {
  const present = (worker?.bindings ?? []).map(({ name }) => name);
  return (['ADMIN_TOKEN', 'ROOT_SECRET'] as const).filter((name) => !present.includes(name));
}

/**
 * Makes the secrets that the Worker lacks, in a file that only the operator can read. They are
 * uploaded with the code; the file keeps them if the upload fails.
 */
export function secretSteps({
  found,
  options,
  cloudflare,
  account,
  databases,
}: Deployment): Step[] {
  const missing = missingSecrets(found.worker);
  const known = readSecrets();
  return (['ADMIN_TOKEN', 'ROOT_SECRET'] as const).map((name) => ({
    kind: 'secret',
    name,
    isDone: !missing.includes(name) || known[name] !== undefined,
    run: async () => {
      if (name === 'ROOT_SECRET' && !options.hasNewRootSecret) await requireNoAccounts();
      addSettings(join(ROOT, SECRETS_FILE), { [name]: makeSecrets()[name] });
      return { note: `in ${SECRETS_FILE}, which nobody else can read` };
    },
  }));

  async function requireNoAccounts(): Promise<void> {
    for (const { id, name } of databases) {
      const path = `/accounts/${account}/d1/database/${id}/query`;
      const query = {
        sql: `select count(*) as n from sqlite_master where type = 'table' and name = 'accounts'`,
      };
      const [tables] = await cloudflare.change<{ results: { n: number }[] }[]>('POST', path, query);
      if (!tables?.results[0]?.n) continue;
      const count = { sql: 'select count(*) as n from accounts' };
      const [accounts] = await cloudflare.change<{ results: { n: number }[] }[]>(
        'POST',
        path,
        count,
      );
      if (accounts?.results[0]?.n)
        throw new UserError(
          `The database ${name} has accounts, but neither the Worker nor ${SECRETS_FILE} has their root secret. With a new\n` +
            `one all their credentials end. Write the old one into ${SECRETS_FILE} as ROOT_SECRET="…", or add ` +
            '--new-root-secret to\nthe command.',
        );
    }
  }
}
