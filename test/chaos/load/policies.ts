import { certaintyOf } from '../client.ts';
import type { Actor } from './actor.ts';

const MOST = 6;

/** Creates, changes or deletes a policy. */
export async function changePolicies({ memory, random }: Actor): Promise<void> {
  const { user, policies } = memory;
  const alive = policies.filter((policy) => policy.alive);
  if (alive.length < MOST && random.chance(0.6)) {
    const effect = random.pick(['approve', 'deny']);
    const body = {
      name: memory.newMark(),
      effect,
      actions: [`auto.${effect}`],
      resources: ['box:*'],
    };
    const outcome = await user.insist<{ id: string }>('POST', '/v1/policies', body);
    if (outcome?.status === 201) policies.push({ id: outcome.body.id, alive: true });
    return;
  }
  if (alive.length === 0) return;
  const policy = random.pick(alive);
  const path = `/v1/policies/${policy.id}`;
  if (random.chance(0.5))
    await user.ask('PUT', path, { priority: random.below(10), max_uses: 1 + random.below(3) });
  else if (certaintyOf(await user.ask('DELETE', path)) !== 'refused') policy.alive = false;
}
