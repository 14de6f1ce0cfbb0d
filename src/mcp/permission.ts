import * as z from 'zod';
import type { Context } from '../http/context';
import { exampleId } from '../http/examples';
import { plainText } from '../http/fields';
import { jsonField, objectField } from '../http/response-fields';
import { equalJson } from '../lib/json';
import { type LazyOutput, lazy } from '../lib/lazy';
import { Outcome } from '../permissions/outcomes/outcome';
import { Permission } from '../permissions/permission';
import type { Preview } from '../permissions/preview';
import { Review } from '../permissions/reviews/review';

/** The argument that names a permission. A malformed id is answered like an unknown one. */
export const permissionIdField = lazy(() =>
  plainText(128).meta({ description: 'The id of the permission.', examples: [exampleId('perm')] }),
);

/**
 * A permission as the tools show it: what an agent and what people wrote is apart from what the
 * service made.
 */
export const ShownPermission = lazy(() => {
  const { shape } = Permission();
  const { votes, proposal, ...rule } = Review().shape;
  const { summary, ...outcome } = Outcome().shape;
  return z.object({
    id: shape.id,
    agent_id: shape.agent_id,
    status: shape.status,
    console_url: z
      .string()
      .meta({ description: 'The page where people decide. It needs a sign-in.' }),
    token: shape.token,
    decided_by: shape.decided_by,
    decided_at: shape.decided_at,
    policy_id: shape.policy_id,
    connection_id: shape.connection_id,
    series_usage: shape.series_usage,
    input_digest: shape.input_digest,
    preview_digest: shape.preview_digest,
    expires_at: shape.expires_at,
    created_at: shape.created_at,
    updated_at: shape.updated_at,
    review: z
      .object(rule)
      .nullable()
      .meta({ description: 'Null if one approval by anybody who may decide is enough.' }),
    outcome: z
      .object(outcome)
      .nullable()
      .meta({
        description:
          'What happened after the use, as the program says. Null before the use, and if the request did not say ' +
          'reports_outcome.',
      }),
    written_by_agent: z.object({
      action: shape.action,
      resource: shape.resource,
      scope: shape.scope,
      series: shape.series,
      reason: shape.reason,
      title: shape.title,
      external_id: shape.external_id,
      input: shape.input,
      // Has no maximum lengths, because an invisible character is shown as `[U+202E]`.
      preview: jsonField<Preview>(objectField)
        .nullable()
        .optional()
        .meta({ description: 'What people read.' }),
      outcome_summary: summary.optional(),
    }),
    written_by_people: z.object({
      decision_reason: shape.decision_reason,
      granted_scope: shape.granted_scope,
      granted_series: shape.granted_series,
      proposal,
      votes,
    }),
  });
});

type ShownPermission = LazyOutput<typeof ShownPermission>;

/** Shows a permission. */
export function showPermission(permission: Permission, publicUrl: string): ShownPermission {
  const { action, resource, scope, series, reason, title, external_id, input, preview, ...rest } =
    permission;
  const { decision_reason, granted_scope, granted_series, review, outcome, ...fieldsOfService } =
    rest;
  const { votes, proposal, ...rule } = review ?? {};
  const { summary: outcome_summary, ...reported } = outcome ?? {};
  return {
    ...fieldsOfService,
    console_url: consoleUrl(permission, publicUrl),
    // The rests are complete unless they are rests of null, which their types do not tell.
    review: review && (rule as NonNullable<ShownPermission['review']>),
    outcome: outcome && (reported as NonNullable<ShownPermission['outcome']>),
    written_by_agent: {
      action,
      resource,
      scope,
      series,
      reason,
      title,
      external_id,
      input,
      preview,
      ...(outcome && { outcome_summary }),
    },
    written_by_people: { decision_reason, granted_scope, granted_series, proposal, votes },
  };
}

/** The page on which people decide. The address carries no right. */
function consoleUrl({ id }: Pick<Permission, 'id'>, publicUrl: string): string {
  return `${publicUrl}/console/permissions/${id}`;
}

/** Answers with a permission, and with what the caller should do about it. */
export function answerPermission({ config, principal }: Context, permission: Permission) {
  const { publicUrl } = config;
  const describeNextStep = principal.kind === 'agent' ? nextStepOfAgent : nextStepOfUser;
  return {
    nextStep: describeNextStep(permission, publicUrl),
    data: { permission: showPermission(permission, publicUrl) },
  };
}

function nextStepOfUser(permission: Permission, publicUrl: string): string {
  const { id, status } = permission;
  if (status !== 'pending') return `${id} is ${status}. There is nothing left to decide.`;
  return `${id} is pending. No tool decides it: a person does so at ${consoleUrl(permission, publicUrl)}`;
}

function nextStepOfAgent(permission: Permission, publicUrl: string): string {
  const { id, status, review } = permission;
  switch (status) {
    case 'pending':
      return (
        `${id} is pending: a person has to decide. Do not act yet. Call wait_for_decision with this permission_id, and ` +
        'again for as long as the answer is pending. Your user may like to know the page where people decide: ' +
        consoleUrl(permission, publicUrl) +
        (review?.short_of_reviewers
          ? ' At the moment too few people may approve it: tell your user.'
          : '')
      );
    case 'denied':
      return `${id} is denied. Do not act, and do not ask for the same again. Tell your user that it was denied, and why.`;
    case 'expired':
      return (
        `${id} is expired: nobody approved it in time, or it was withdrawn. Do not act. Tell your user, and ask again ` +
        'only if they want that, with another external_id.'
      );
    case 'approved':
      return nextStepOfApproved(permission);
  }
}

function nextStepOfApproved(permission: Permission): string {
  const { id, token, scope, granted_scope, input_digest } = permission;
  if (token?.status !== 'active') {
    return (
      `${id} is approved, but its token is ${token?.status ?? 'missing'}: it allows nothing more. ` +
      describeOutcome(permission) +
      'If the act has not happened and your user still wants it, ask again with another external_id.'
    );
  }
  const isNarrowed = granted_scope !== null && !equalJson(scope, granted_scope);
  return (
    `${id} is approved. Right before you act, call use_token with this permission_id` +
    `${input_digest === null ? '' : ' and, as input, exactly the arguments that you are about to run'}. Act only if that ` +
    'succeeds, once for each use, and stay within granted_scope.' +
    (isNarrowed
      ? ' It is narrower than what you asked for: if the act does not fit, do not act.'
      : '')
  );
}

function describeOutcome({ outcome }: Permission): string {
  if (!outcome) return '';
  if (outcome.status === 'awaited')
    return 'The outcome of the act is awaited: if you acted, call report_outcome. ';
  return `The outcome of the act was ${outcome.status}. `;
}
