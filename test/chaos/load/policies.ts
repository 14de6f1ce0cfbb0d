import { certaintyOf } from '../client.ts';
import type { Actor } from './actor.ts';
import { drawBudget } from './budgets.ts';

const MOST = 6;

/** Creates, changes or deletes a policy. */
export async function changePolicies({ memory, random }: Actor): Promise<void> {
  const { user, policies } = memory;
  const alive = policies.filter((policy) => policy.alive);
  if (alive.length < MOST && random.chance(0.6)) {
    const effect = random.pick(['approve', 'approve', 'deny']);
    const approves = effect === 'approve';
    const hasBudget = approves && random.chance(0.8);
    const body = {
      name: memory.newMark(),
      effect,
      actions: [`auto.${effect}`],
      resources: ['box:*'],
      ...(hasBudget && { budget: drawBudget(random) }),
      ...(approves && random.chance(0.3) && { expires_at: soon(random.below(60)) }),
    };
    const outcome = await user.insist<{ id: string }>('POST', '/v1/policies', body);
    if (outcome?.status === 201) policies.push({ id: outcome.body.id, alive: true, hasBudget });
    return;
  }
  if (alive.length === 0) return;
  const policy = random.pick(alive);
  const path = `/v1/policies/${policy.id}`;
  const change = { priority: random.below(10), max_uses: 1 + random.below(3) };
  const budget = policy.hasBudget && random.chance(0.5) ? { budget: drawBudget(random) } : {};
  if (random.chance(0.7)) await user.ask('PUT', path, { ...change, ...budget });
  else if (certaintyOf(await user.ask('DELETE', path)) !== 'refused') policy.alive = false;
}

/** A time so many seconds from now, and one more. */
function soon(seconds: number): string {
  return new Date(Date.now() + (1 + seconds) * 1_000).toISOString();
}
