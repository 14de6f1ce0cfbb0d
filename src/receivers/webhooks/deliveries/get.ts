import { Hono } from 'hono';
import * as z from 'zod';
import type { DeliveryEvent } from '../../../db/schema';
import { userAccess } from '../../../http/access';
import type { Scope, UserContext } from '../../../http/context';
import { EXAMPLE } from '../../../http/examples';
import { noQuery } from '../../../http/input';
import { answer, ok, operation } from '../../../http/operation';
import {
  countField,
  idField,
  integerField,
  objectField,
  timeField,
} from '../../../http/response-fields';
import type { JsonObject } from '../../../lib/json';
import { type LazyOutput, lazy } from '../../../lib/lazy';
import { formatTime } from '../../../lib/time';
import { payloadOf } from '../payload';
import { requireRow } from '../webhook';
import {
  Delivery,
  exampleDelivery,
  type FoundDelivery,
  preloadDelivery,
  presentDelivery,
} from './delivery';

const Attempt = lazy(() =>
  z
    .object({
      at: timeField.meta({ description: 'When it began.' }),
      status_code: integerField
        .nullable()
        .meta({ description: 'The status of the answer; null if there was none.' }),
      error: z
        .string()
        .nullable()
        .meta({ description: 'Why it failed, in plain words; null if it succeeded.' }),
      duration_ms: countField,
    })
    .meta({ id: 'DeliveryAttempt' }),
);

/** The fields that the answer about one delivery has besides. */
export const detailFields = lazy(() => ({
  payload: objectField.nullable().meta({
    description:
      'The message that is sent. Null without the scope `audit:read` for `audit.created`, `permissions:read` for events of ' +
      'permissions, or `audit:export` for events of exports and reports, and if the audit entry or the permission is no ' +
      'longer kept.',
  }),
  attempt_history: z.array(Attempt()).meta({ description: 'Every attempt, in order.' }),
}));

/** A delivery with its payload and its attempts. */
export const DeliveryDetail = lazy(() =>
  Delivery()
    .extend(detailFields())
    .meta({
      id: 'DeliveryDetail',
      description: 'A delivery with its payload and its attempts.',
      examples: [
        {
          ...exampleDelivery,
          payload: {
            event: 'audit.created',
            timestamp: EXAMPLE.time,
            data: { event_type: 'request' },
          },
          attempt_history: [
            { at: EXAMPLE.time, status_code: 503, error: 'The answer was 503.', duration_ms: 41 },
          ],
        },
      ],
    }),
);

export type DeliveryDetail = LazyOutput<typeof DeliveryDetail>;

/** The parameters in the path of a delivery. */
export const deliveryPath = lazy(() =>
  z.object({ id: idField('webhook'), delivery_id: idField('dlv') }),
);

/**
 * The scope that a token needs, besides that for the delivery, to see the payload of an event; null
 * if none.
 */
const PAYLOAD_SCOPES: Record<DeliveryEvent, Scope | null> = {
  'audit.created': 'audit:read',
  'audit.export.completed': 'audit:export',
  'audit.export.failed': 'audit:export',
  'report.completed': 'audit:export',
  'report.failed': 'audit:export',
  'webhook.test': null,
  'permission.requested': 'permissions:read',
  'permission.escalated': 'permissions:read',
  'permission.decided': 'permissions:read',
  'permission.expired': 'permissions:read',
  'permission.outcome_missing': 'permissions:read',
  'webhook.disabled': 'webhooks:read',
  'account.stopped': 'account:read',
  'account.resumed': 'account:read',
};

/** Presents a delivery with its payload and its attempts. */
export function getDelivery(
  context: UserContext,
  { delivery }: { delivery: FoundDelivery },
): DeliveryDetail {
  return { ...presentDelivery(delivery.webhookId, delivery), ...presentDetail(context, delivery) };
}

/**
 * Presents {@link detailFields}, with the payload only for a token that may read the same data
 * elsewhere.
 */
export function presentDetail({ principal, runtime }: UserContext, delivery: FoundDelivery) {
  const scope = PAYLOAD_SCOPES[delivery.event];
  const mayRead = scope === null || principal.scopes.includes(scope);
  const payload = mayRead ? payloadOf(delivery, principal.account, runtime.now()) : null;
  return {
    payload: payload === null ? null : (JSON.parse(payload) as JsonObject),
    attempt_history: listAttempts(delivery),
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
  const success = {
    at: formatTime(completedAt - duration),
    status_code: lastStatusCode,
    error: null,
  };
  return [...attempts, { ...success, duration_ms: duration }];
}

export const getDeliveryRoute = new Hono().get(
  '/v1/webhooks/:id/deliveries/:delivery_id',
  operation({
    id: 'getDelivery',
    tag: 'Webhooks',
    summary: 'Get a delivery with its attempts',
    success: ok(DeliveryDetail),
    path: deliveryPath,
    problems: ['not_found'],
  }),
  userAccess('webhooks:read', preloadDelivery),
  noQuery(),
  async (c) =>
    answer(
      c,
      getDelivery(c.var.context, { delivery: requireRow(c.var.loaded.delivery, 'delivery') }),
    ),
);
