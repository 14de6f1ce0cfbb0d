export type * from './api.ts';
export type { CallOptions } from './call.ts';
export type { Clock } from './clock.ts';
export { Countersign, type CountersignOptions } from './countersign.ts';
export type { Duration } from './duration.ts';
export { ApiError, ConnectionError, CountersignError, type FieldError } from './errors.ts';
export type { Limits } from './guard/act.ts';
export {
  AccountStopped,
  AlreadyUsed,
  GrantNarrowed,
  GuardError,
  InputChanged,
  type PendingCall,
  PermissionDenied,
  PermissionExpired,
  PermissionLapsed,
  PermissionPending,
  Unreachable,
} from './guard/errors.ts';
export type {
  AskedRequest,
  GuardCall,
  Guarded,
  GuardedFunction,
  GuardOptions,
} from './guard/guard.ts';
export { type GuardedEnd, OutcomeUnknown } from './guard/report.ts';
export type { Json } from './json.ts';
export type { Page, PagePromise } from './page.ts';
export type { AskRule, Rule, RuleDefaults, Rules, ToolArguments } from './rules/rules.ts';
export { type TokenExpectations, type VerifiedToken, verifyToken } from './verify-token.ts';
export { type RequestHeaders, verifyWebhook, type WebhookEvent } from './verify-webhook.ts';
