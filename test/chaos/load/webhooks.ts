import type { KnownWebhook } from '../memory.ts';
import type { Actor } from './actor.ts';

const MOST = 3;

/** Creates, updates, tests, disables, enables or deletes a webhook, or rotates its secret. */
export async function changeWebhooks(actor: Actor): Promise<void> {
  const { memory, random } = actor;
  const alive = memory.webhooks.filter((webhook) => webhook.alive);
  if (alive.length === 0 || (alive.length < MOST && random.chance(0.5)))
    return createWebhook(actor);
  await random.pick([describe, tryOut, rotateSecret, rotateSecret, toggle, toggle, remove])(
    actor,
    random.pick(alive),
  );
}

async function describe({ memory }: Actor, { id }: KnownWebhook): Promise<void> {
  await memory.user.ask('PUT', `/v1/webhooks/${id}`, { description: memory.newMark() });
}

async function tryOut({ memory }: Actor, { id }: KnownWebhook): Promise<void> {
  await memory.user.ask('POST', `/v1/webhooks/${id}/test`, {});
}

async function remove({ memory }: Actor, webhook: KnownWebhook): Promise<void> {
  webhook.alive = false;
  await memory.user.ask('DELETE', `/v1/webhooks/${webhook.id}`);
}

async function createWebhook({ memory, receiver }: Actor): Promise<void> {
  const path = `/${memory.traits.name}/${memory.newMark()}`;
  const body = { url: receiver.origin + path };
  const outcome = await memory.user.insist<{ id: string; secret: string }>(
    'POST',
    '/v1/webhooks',
    body,
  );
  if (outcome?.status !== 201) return;
  const { id, secret } = outcome.body;
  receiver.mailbox(path).learn(secret);
  memory.webhooks.push({ id, path, madeAt: Date.now(), alive: true, isOn: true, silences: [] });
}

async function rotateSecret(
  { memory, receiver }: Actor,
  { id, path }: KnownWebhook,
): Promise<void> {
  const mailbox = receiver.mailbox(path);
  const address = `/v1/webhooks/${id}/rotate-secret`;
  // After two concurrent rotations it would be unknown which secret is the newest.
  if (mailbox.isChanging) return;
  mailbox.isChanging = true;
  const outcome = await memory.user.insist<{ secret: string }>('POST', address, {});
  if (outcome?.status === 200) mailbox.learn(outcome.body.secret);
  if (outcome === null) mailbox.trustBlindly();
  mailbox.isChanging = false;
}

/** Enables or disables a webhook whose state is known; one call at a time. */
async function toggle({ memory }: Actor, webhook: KnownWebhook): Promise<void> {
  const was = webhook.isOn;
  if (was === null) return;
  webhook.isOn = null;
  const sentAt = Date.now();
  const outcome = await memory.user.repeat('PUT', `/v1/webhooks/${webhook.id}`, {
    is_active: !was,
  });
  if (outcome?.status !== 200) return;
  const answeredAt = Date.now();
  if (was) webhook.silences.push({ from: answeredAt, to: Number.POSITIVE_INFINITY });
  else {
    const silence = webhook.silences.at(-1);
    if (silence) silence.to = sentAt;
    webhook.madeAt = answeredAt;
  }
  webhook.isOn = !was;
}
