/** The shard with the most room, for a new account. Where there is but one, nothing is asked. */
export async function leastFullShard<S extends { size(): Promise<number> }>(shards: readonly S[]): Promise<S> {
  const [first] = shards;
  if (!first) throw new Error('there is no shard');
  if (shards.length === 1) return first;
  const sizes = await Promise.all(shards.map((shard) => shard.size()));
  return shards[sizes.indexOf(Math.min(...sizes))] ?? first;
}
