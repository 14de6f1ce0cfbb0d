import type { Actor } from './actor.ts';

const MOST = 3;

/** A webhook is made, described or deleted, or a trial message ordered. */
export async function changeWebhooks({ memory, random, receiver }: Actor): Promise<void> {
  const { user, webhooks } = memory;
  const alive = webhooks.filter((webhook) => webhook.alive);
  if (alive.length === 0 || (alive.length < MOST && random.chance(0.5))) {
    const path = `/${memory.traits.name}/${memory.newMark()}`;
    const body = { url: receiver.origin + path };
    const outcome = await user.insist<{ id: string; secret: string }>('POST', '/v1/webhooks', body);
    if (outcome?.status !== 201) return;
    receiver.mailbox(path).learn(outcome.body.secret);
    webhooks.push({ id: outcome.body.id, path, madeAt: Date.now(), alive: true });
    return;
  }
  const webhook = random.pick(alive);
  const path = `/v1/webhooks/${webhook.id}`;
  if (random.chance(0.4)) await user.ask('PUT', path, { description: memory.newMark() });
  else if (random.chance(0.5)) await user.ask('POST', `${path}/test`, {});
  else {
    webhook.alive = false;
    await user.ask('DELETE', path);
  }
}
