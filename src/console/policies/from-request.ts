import type { Json, JsonObject } from '../../lib/json';
import type { PermissionRow } from '../../permissions/permission';
import { EMPTY_POLICY, type ShownPolicy } from './values';

const MAX_NAME_LENGTH = 255;

/**
 * A policy that would approve exactly this request, and lower numbers in its limits. If the request has no limits, it would
 * approve requests with any: see {@link ignoresLimits}.
 *
 * The resource stays empty if it has a `*`: in a policy that would stand for any text, and an agent could have asked for it
 * on purpose.
 */
export function policyFromRequest(request: PermissionRow): ShownPolicy {
  const { action, resource, scope, agentId, tokenTtl, maxUses } = request;
  const name = `${action} on ${resource}`;
  return {
    ...EMPTY_POLICY,
    effect: 'approve',
    name: [...name].slice(0, MAX_NAME_LENGTH).join(''),
    actions: [action],
    resources: hasWildcard(request) ? [] : [resource],
    agent_ids: [agentId],
    conditions: Object.fromEntries(Object.entries(scope).map(([key, value]) => [key, conditionFor(value as Json)])),
    token_ttl: tokenTtl,
    max_uses: maxUses,
  };
}

/** Whether a pattern of the request's resource would match more than it. */
export function hasWildcard({ resource }: Pick<PermissionRow, 'resource'>): boolean {
  return resource.includes('*');
}

/** Whether a policy approves requests whatever their limits are. */
export function ignoresLimits({ effect, conditions }: Pick<ShownPolicy, 'effect' | 'conditions'>): boolean {
  return effect === 'approve' && Object.keys(conditions).length === 0;
}

/** A number may be lower; everything else has to be the same. */
function conditionFor(value: Json): JsonObject {
  return typeof value === 'number' ? { max: value } : { equals: value };
}
