import * as z from 'zod';
import { type LazyOutput, lazy } from '../../../lib/lazy';
import { type Id, parseId } from '../../../lib/typeid';
import { DECIDE_ACTION } from './message';
import { DECISION_MODAL, ModalState } from './modal';
import type { ViewValues } from './read-fields';

/** The Slack user who acted. */
export interface SlackUser {
  id: string;
  /** The workspace. */
  teamId: string;
}

/** An action of a person in Slack that the service handles. */
export type Interaction = { user: SlackUser } & (
  | {
      kind: 'click';
      permissionId: Id<'perm'>;
      /** Opens a modal, once and within 3 seconds. */
      triggerId: string;
      /** The Slack channel of the message with the button. */
      slackChannel: string;
    }
  | {
      kind: 'submission';
      permissionId: Id<'perm'>;
      /** How many votes the permission had when the modal was made. */
      votes: number;
      values: ViewValues;
    }
);

const slackId = z.string().regex(/^[A-Z][A-Z0-9]{0,30}$/);

const acting = {
  user: z.object({ id: slackId, team_id: slackId.nullish() }),
  // Null for an app that a whole organization installed.
  team: z.object({ id: slackId }).nullish(),
};

const ClickPayload = lazy(() =>
  z.object({
    ...acting,
    type: z.literal('block_actions'),
    trigger_id: z.string().min(1).max(255),
    container: z.object({ channel_id: slackId.nullish() }).nullish(),
    channel: z.object({ id: slackId }).nullish(),
    // Slack sends one action for each click.
    actions: z
      .tuple([z.object({ action_id: z.string(), value: z.string().nullish() })])
      .rest(z.unknown()),
  }),
);

const option = z.object({ value: z.string() });

const SubmissionPayload = lazy(() =>
  z.object({
    ...acting,
    type: z.literal('view_submission'),
    view: z.object({
      callback_id: z.literal(DECISION_MODAL),
      private_metadata: z.string(),
      state: z.object({
        values: z.record(
          z.string(),
          z.record(
            z.string(),
            z.object({
              value: z.string().nullish(),
              selected_option: option.nullish(),
              selected_options: z.array(option).optional(),
            }),
          ),
        ),
      }),
    }),
  }),
);

/**
 * Reads the body of a request that Slack sends when a person presses a button or submits a modal: a
 * form with the field `payload`, which is JSON. The request's signature must have been checked.
 * @returns null for what the service does not handle: other buttons, links and modals, other kinds
 *   of payload, malformed ones
 */
export function readInteraction(body: string): Interaction | null {
  const payload = parseJson(new URLSearchParams(body).get('payload') ?? '');
  const click = ClickPayload().safeParse(payload).data;
  if (click) return readClick(click);
  const submission = SubmissionPayload().safeParse(payload).data;
  if (submission) return readSubmission(submission);
  return null;
}

function readSubmission({
  view,
  ...acting
}: LazyOutput<typeof SubmissionPayload>): Interaction | null {
  const user = userOf(acting);
  const state = ModalState().safeParse(parseJson(view.private_metadata)).data;
  const permissionId = parseId('perm', state?.permission ?? '');
  if (!user || !state || !permissionId) return null;
  return { kind: 'submission', user, permissionId, votes: state.votes, values: view.state.values };
}

function readClick(click: LazyOutput<typeof ClickPayload>): Interaction | null {
  const user = userOf(click);
  const [action] = click.actions;
  const permissionId = parseId('perm', action.value ?? '');
  const slackChannel = click.container?.channel_id ?? click.channel?.id;
  if (!user || action.action_id !== DECIDE_ACTION || !permissionId || slackChannel === undefined)
    return null;
  return { kind: 'click', user, permissionId, triggerId: click.trigger_id, slackChannel };
}

/** Whether an id names an organization of Slack's Enterprise Grid, which has several workspaces. */
export function isOrganization(id: string): boolean {
  return id.startsWith('E');
}

/**
 * Reads the user and their workspace; null if the payload names no workspace. `user.team_id` is the
 * user's own workspace. `team` is that of the app, which differs for a guest of a shared channel
 * (Slack Connect).
 */
function userOf({
  user,
  team,
}: {
  user: { id: string; team_id?: string | null | undefined };
  team?: { id: string } | null | undefined;
}): SlackUser | null {
  const own = user.team_id ?? team?.id;
  if (own === undefined) return null;
  if (team && isOrganization(own)) return { id: user.id, teamId: team.id };
  return { id: user.id, teamId: own };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
