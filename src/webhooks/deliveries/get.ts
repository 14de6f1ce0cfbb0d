import { Hono } from 'hono';
import * as z from 'zod';
import type { WebhookEvent } from '../../db/schema';
import { notFound } from '../../errors';
import { userAccess } from '../../http/access';
import type { Scope, UserContext } from '../../http/context';
import { EXAMPLE } from '../../http/examples';
import { noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { shownCount, shownId, shownInteger, shownObject, shownTime } from '../../http/response-fields';
import type { JsonObject } from '../../lib/json';
import { later } from '../../lib/lazy';
import { formatTime } from '../../lib/time';
import { Delivery, deliveryOfPath, exampleDelivery, type FoundDelivery, payloadOf, presentDelivery } from './delivery';

const Attempt = later(() =>
  z
    .object({
      at: shownTime.meta({ description: 'When it began.' }),
      status_code: shownInteger.nullable().meta({ description: 'What it was answered; null where it was not.' }),
      error: z.string().nullable().meta({ description: 'Why it failed, in plain words; null where it succeeded.' }),
      duration_ms: shownCount,
    })
    .meta({ id: 'DeliveryAttempt' }),
);

/** A delivery as it is shown by itself. */
export const DeliveryDetail = later(() =>
  Delivery()
    .extend({
      payload: shownObject.nullable().meta({
        description:
          'What is sent. Null without the scope `audit:read` for `audit.created`, without `audit:export` for events of ' +
          'exports and reports, and when the audit entry is no longer kept.',
      }),
      attempt_history: z.array(Attempt()).meta({ description: 'Every attempt, in order.' }),
    })
    .meta({
      id: 'DeliveryDetail',
      description: 'A delivery with its message and its attempts.',
      examples: [
        {
          ...exampleDelivery,
          payload: { event: 'audit.created', timestamp: EXAMPLE.time, data: { event_type: 'request' } },
          attempt_history: [{ at: EXAMPLE.time, status_code: 503, error: 'The answer was 503.', duration_ms: 41 }],
        },
      ],
    }),
);

export type DeliveryDetail = z.output<ReturnType<typeof DeliveryDetail>>;

/** Parameters of a path that leads to a delivery. */
export const deliveryPath = later(() => z.object({ id: shownId('webhook'), delivery_id: shownId('dlv') }));

/** The scope that guards what an event tells, beside the one that opens the call; null where it tells nothing. */
const PAYLOAD_SCOPES: Record<WebhookEvent, Scope | null> = {
  'audit.created': 'audit:read',
  'audit.export.completed': 'audit:export',
  'audit.export.failed': 'audit:export',
  'report.completed': 'audit:export',
  'report.failed': 'audit:export',
  'webhook.test': null,
};

/**
 * Shows a delivery; its payload only to a token that may also read the same elsewhere.
 * @param row the delivery, as the authentication found it
 */
export function showDelivery({ principal, runtime }: UserContext, row: FoundDelivery | undefined): DeliveryDetail {
  if (!row) throw notFound('delivery');
  const scope = PAYLOAD_SCOPES[row.event];
  const mayRead = scope === null || principal.scopes.includes(scope);
  const payload = mayRead ? payloadOf(row, principal.account, runtime.now()) : null;
  return {
    ...presentDelivery(row.webhookId, row),
    payload: payload === null ? null : (JSON.parse(payload) as JsonObject),
    attempt_history: listAttempts(row),
  };
}

function listAttempts({ failures, status, completedAt, duration, lastStatusCode }: FoundDelivery) {
  const attempts = (failures ?? []).map((failure) => ({
    at: formatTime(failure.at),
    status_code: failure.statusCode,
    error: failure.error as string | null,
    duration_ms: failure.duration,
  }));
  if (status !== 'succeeded' || completedAt === null || duration === null) return attempts;
  const success = { at: formatTime(completedAt - duration), status_code: lastStatusCode, error: null };
  return [...attempts, { ...success, duration_ms: duration }];
}

export const deliveryDetail = new Hono().get(
  '/v1/webhooks/:id/deliveries/:delivery_id',
  operation({
    id: 'getDelivery',
    tag: 'Webhooks',
    summary: 'Get a delivery with its attempts',
    success: ok(DeliveryDetail),
    path: deliveryPath,
    problems: ['not_found'],
  }),
  userAccess('webhooks:read', deliveryOfPath),
  noQuery(),
  async (c) => answer(c, showDelivery(c.var.context, c.var.loaded?.[0])),
);
