import { callWrangler } from '../call-wrangler.ts';
import type { Cloudflare } from '../cloudflare.ts';
import type { TargetDatabase } from '../configuration.ts';
import type { Deployment, Step } from '../deployment.ts';

/** Makes the databases that do not exist. */
export function databaseSteps(deployment: Deployment): Step[] {
  const { databases, options, cloudflare, account, signal } = deployment;
  const place = [
    ...(options.location ? ['--location', options.location] : []),
    ...(deployment.jurisdiction ? ['--jurisdiction', deployment.jurisdiction] : []),
  ];
  return databases.map((database) => ({
    kind: 'database',
    name: `${database.name} (${database.binding})`,
    isDone: database.id !== null,
    run: async () => {
      await callWrangler(['d1', 'create', database.name, ...place], signal, {
        CLOUDFLARE_ACCOUNT_ID: account,
      });
      database.id = await findDatabaseId(cloudflare, account, database);
      if (database.id === null) throw new Error(`the new database ${database.name} is not found`);
    },
  }));
}

/** The id of a database with this name in the account; null if there is none. */
export async function findDatabaseId(
  cloudflare: Cloudflare,
  account: string,
  { name }: Pick<TargetDatabase, 'name'>,
): Promise<string | null> {
  return (
    (await cloudflare.find<{ uuid: string }>(`/accounts/${account}/d1/database/${name}`))?.uuid ??
    null
  );
}
