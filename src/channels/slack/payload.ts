import * as z from 'zod';
import { lazy } from '../../lib/lazy';
import { type Id, parseId } from '../../lib/typeid';
import { REVIEW_ACTION } from './message';
import { MAX_METADATA, REVIEW_MODAL, type ViewValues } from './modal';

/** The Slack user who acted. */
export interface SlackUser {
  id: string;
  /** The workspace. */
  teamId: string;
}

/** What a person did in Slack that the service handles. */
export type Interaction = { user: SlackUser } & (
  | {
      kind: 'review';
      permissionId: Id<'perm'>;
      /** Opens a modal, once and within 3 seconds. */
      triggerId: string;
      /** The message with the button. */
      message: { channel: string; ts: string };
    }
  | { kind: 'submission'; privateMetadata: string; values: ViewValues }
);

const slackId = z.string().regex(/^[A-Z][A-Z0-9]{0,30}$/);

const acting = {
  user: z.object({ id: slackId, team_id: slackId.optional() }),
  // Null for an app that a whole organization installed.
  team: z.object({ id: slackId }).nullish(),
};

const Click = lazy(() =>
  z.object({
    ...acting,
    type: z.literal('block_actions'),
    trigger_id: z.string().min(1).max(255),
    container: z.object({ channel_id: slackId, message_ts: z.string().regex(/^\d{1,12}\.\d{1,9}$/) }),
    actions: z.array(z.object({ action_id: z.string(), value: z.string().optional() })).min(1),
  }),
);

const option = z.object({ value: z.string() });

const Submission = lazy(() =>
  z.object({
    ...acting,
    type: z.literal('view_submission'),
    view: z.object({
      callback_id: z.literal(REVIEW_MODAL),
      private_metadata: z.string().max(MAX_METADATA),
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
 * Reads the body of a request that Slack sends when a person presses a button or submits a modal: a form with the field
 * `payload`, which is JSON. The request's signature must have been checked.
 * @returns null for what the service does not handle: other buttons, links and modals, other kinds of payload, malformed ones
 */
export function readInteraction(body: string): Interaction | null {
  const payload = parsePayload(body);
  const click = Click().safeParse(payload).data;
  if (click) return readClick(click);
  const submission = Submission().safeParse(payload).data;
  const user = submission && userOf(submission);
  if (!submission || !user) return null;
  const { private_metadata: privateMetadata, state } = submission.view;
  return { kind: 'submission', user, privateMetadata, values: state.values };
}

function readClick(click: z.output<ReturnType<typeof Click>>): Interaction | null {
  const user = userOf(click);
  const [action] = click.actions;
  const permissionId = parseId('perm', action?.value ?? '');
  if (!user || action?.action_id !== REVIEW_ACTION || !permissionId) return null;
  const message = { channel: click.container.channel_id, ts: click.container.message_ts };
  return { kind: 'review', user, permissionId, triggerId: click.trigger_id, message };
}

/** The user; null if the payload does not say of which workspace. */
function userOf({
  user,
  team,
}: {
  user: { id: string; team_id?: string | undefined };
  team?: { id: string } | null | undefined;
}) {
  const teamId = user.team_id ?? team?.id;
  return teamId === undefined ? null : { id: user.id, teamId };
}

function parsePayload(body: string): unknown {
  try {
    return JSON.parse(new URLSearchParams(body).get('payload') ?? '');
  } catch {
    return null;
  }
}
