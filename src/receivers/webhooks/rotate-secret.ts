import { Hono } from 'hono';
import { receivers } from '../../db/schema';
import { userAccess } from '../../http/access';
import { targetExists, userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { body, NoFields, noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { DAY } from '../../lib/time';
import { type ReceiverRow, requireRow } from '../receiver';
import { makeSecret } from './secret';
import { isWebhook, preloadWebhook, presentWebhook, WebhookWithSecret } from './webhook';

/** How long the old secret signs messages beside the new one, in milliseconds. */
const OLD_SECRET_LIFETIME = DAY;

/**
 * Gives a webhook a new secret. For 24 hours the old one signs as well; a secret that was replaced
 * earlier no longer does.
 * @throws Problem `not_found` if the webhook was deleted at the same time
 */
export async function rotateSecret(
  context: UserContext,
  { webhook: row }: { webhook: ReceiverRow },
): Promise<WebhookWithSecret> {
  const { principal, runtime, ledger, config } = context;
  const account = principal.account.number;
  const now = runtime.now();
  const { secret, encrypted } = await makeSecret(runtime, config.keyring, row.id);
  const rotated = { ...presentWebhook({ ...row, updatedAt: now }), secret };
  await ledger.change({
    record: userActivity(context, 'webhook.secret_rotated', row.id),
    guards: [targetExists('webhook', receivers, isWebhook(account, row.id))],
    changes: (write) => [
      write
        .update(receivers)
        .set({
          secret: encrypted,
          oldSecret: receivers.secret,
          oldSecretExpiresAt: now + OLD_SECRET_LIFETIME,
          updatedAt: now,
        })
        .where(isWebhook(account, row.id)),
    ],
    answer: { value: rotated, subject: principal.account.id },
  });
  return rotated;
}

export const rotateSecretRoute = new Hono().post(
  '/v1/webhooks/:id/rotate-secret',
  operation({
    id: 'rotateWebhookSecret',
    tag: 'Webhooks',
    summary: 'Rotate the secret of a webhook',
    description:
      'For 24 hours every message is signed with both secrets, the new one first. A second rotation within that time ' +
      'drops the oldest secret.',
    success: ok(WebhookWithSecret),
    pathId: 'webhook',
  }),
  userAccess('webhooks:write', preloadWebhook),
  noQuery(),
  body(NoFields),
  async (c) =>
    answer(
      c,
      await rotateSecret(c.var.context, {
        webhook: requireRow(c.var.loaded.webhook, 'webhook'),
      }),
    ),
);
