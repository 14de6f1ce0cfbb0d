import { UserError } from '../user-error.ts';
import { type Configuration, givenId, type TargetDatabase } from './configuration.ts';
import type { FoundWorker } from './found.ts';

/**
 * Decides which databases the service is deployed with: those in wrangler.toml, those that it is
 * deployed with, and further ones up to the number of shards. A shard that is deployed is never
 * left out.
 * @returns the databases, with the ids that wrangler.toml or the deployed Worker says
 * @throws UserError if the two say different ids
 */
export function chooseDatabases(
  { name, d1_databases: written = [] }: Configuration,
  worker: FoundWorker | null,
  shards: number | null,
): TargetDatabase[] {
  const bound = (worker?.bindings ?? []).filter(({ type }) => type === 'd1');
  const further = Array.from({ length: (shards ?? 1) - 1 }, (_, i) => `DB_0${i + 1}`);
  const bindings = new Set(
    [...written, ...bound.map(({ name }) => ({ binding: name }))].map(({ binding }) => binding),
  );
  for (const binding of further) bindings.add(binding);
  const first = written.find(({ binding }) => binding === 'DB')?.database_name ?? name;
  return [...bindings].map((binding) => {
    const entry: (typeof written)[number] = written.find(
      (database) => database.binding === binding,
    ) ?? { binding };
    const deployed = bound.find((database) => database.name === binding);
    const deployedId = deployed?.database_id ?? deployed?.id ?? null;
    const id = givenId(entry);
    if (id && deployedId && id !== deployedId)
      throw new UserError(
        `wrangler.toml binds ${binding} to the database ${id}, but the service runs with ${deployedId}.\n` +
          'Another database has none of its accounts. Correct or remove the id in wrangler.toml.',
      );
    const shard = binding.replace(/^DB_/, '').toLowerCase();
    return {
      binding,
      name: entry.database_name ?? (binding === 'DB' ? first : `${first}-${shard}`),
      id: id ?? deployedId,
    };
  });
}
