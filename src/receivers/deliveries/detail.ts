import * as z from 'zod';
import type { DeliveryEvent } from '../../db/schema';
import type { Scope, UserContext } from '../../http/context';
import { countField, integerField, objectField, timeField } from '../../http/response-fields';
import type { JsonObject } from '../../lib/json';
import { lazy } from '../../lib/lazy';
import { formatTime } from '../../lib/time';
import type { FoundDelivery } from './delivery';
import { payloadOf } from './payload';

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
export const deliveryDetailFields = lazy(() => ({
  payload: objectField.nullable().meta({
    description:
      'The message that is sent. Null without the scope `audit:read` for `audit.created`, `permissions:read` for events of ' +
      'permissions, or `audit:export` for events of exports and reports, and if the audit entry or the permission is no ' +
      'longer kept.',
  }),
  attempt_history: z.array(Attempt()).meta({ description: 'Every attempt, in order.' }),
}));

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

/**
 * Presents {@link deliveryDetailFields}, with the payload only for a token that may read the same
 * data elsewhere.
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
