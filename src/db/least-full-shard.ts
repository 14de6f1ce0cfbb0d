/**
 * Finds the shard with the smallest database, for a new account. A single shard is returned without
 * a query.
 */
export async function leastFullShard<S extends { size(): Promise<number> }>(
  shards: readonly S[],
): Promise<S> {
  const [first] = shards;
  if (!first) throw new Error('there is no shard');
  if (shards.length === 1) return first;
  const sizes = await Promise.all(shards.map((shard) => shard.size()));
  return shards[sizes.indexOf(Math.min(...sizes))] ?? first;
}
