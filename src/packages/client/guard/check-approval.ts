import type { Permission } from '../api.ts';
import { canonicalJson, isEqualJson } from '../canonical-json.ts';
import type { Act, Limits } from './act.ts';
import {
  AccountStopped,
  explainInactive,
  GrantNarrowed,
  InputChanged,
  PermissionDenied,
  PermissionExpired,
  STOPPED,
} from './errors.ts';

/** A permission that was approved for exactly this input, with a token that can be used. */
export interface Approval {
  permission: Permission;
  token: string;
  granted: Limits;
}

/**
 * Returns the approval of a decided request.
 * @throws GuardError when it is not approved, not for this input, or not with the limits that the
 *   input needs
 */
export async function checkApproval<Input>(
  act: Act,
  permission: Permission,
  fits: ((input: Input, granted: Limits) => boolean | Promise<boolean>) | undefined,
): Promise<Approval> {
  const state = { externalId: act.externalId, permission };
  const { status, token } = permission;
  if (status === 'denied') throw new PermissionDenied(describeDenial(permission), state);
  // Only an approved request has a token.
  if (!token)
    throw new PermissionExpired('Nobody decided in time, or the request was withdrawn.', state);
  if (permission.input_digest !== act.inputDigest)
    throw new InputChanged('Another input was approved.', state);
  if (token.status !== 'active') throw explainInactive(token.status, state);
  // Only an agent key gets this far, and it gets every active token but those of a stopped account.
  if (!token.value) throw new AccountStopped(STOPPED, state);

  const granted = (permission.granted_scope ?? permission.scope) as Limits;
  // Only true counts, so that a function that answers something else by mistake lets nothing pass.
  const isAcceptable =
    isEqualJson(granted, act.request.scope) ||
    (await fits?.(JSON.parse(act.canonical), granted)) === true;
  if (!isAcceptable)
    throw new GrantNarrowed(`The limits were narrowed to ${canonicalJson(granted)}.`, state);
  return { permission, token: token.value, granted };
}

function describeDenial({ decision_reason: reason }: Permission): string {
  if (!reason) return 'The request was denied.';
  return `The request was denied. The reason: ${reason}`;
}
