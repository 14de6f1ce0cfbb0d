import type { Runtime } from '../../../env';
import { isJsonObject, type JsonObject } from '../../../lib/json';
import { callSlack, readSlack } from './api';
import { isOrganization, type SlackUser } from './interaction';

/** A Slack user as Slack describes them at this moment. */
export interface SlackIdentity {
  workspace: string;
  name: string;
  email: string;
}

const UNREACHABLE = 'Slack did not say who the user is. Try again in a moment.';
const OTHER_WORKSPACE = 'The Slack user belongs to another workspace than the app of this channel.';
const NO_PERSON = 'The Slack user was deactivated, or is no person.';
const NO_EMAIL =
  'Slack does not say the e-mail address of the user. The Slack app needs the scopes users:read ' +
  'and users:read.email.';
const UNCONFIRMED = 'The user has not confirmed the e-mail address in Slack yet.';

/**
 * Asks Slack for the workspace, name and e-mail address of a user.
 * @returns a text says why the user cannot be linked
 */
export async function describeSlackUser(
  runtime: Runtime,
  botToken: string,
  { id, teamId }: SlackUser,
): Promise<SlackIdentity | string> {
  const [app, described] = await Promise.all([
    callSlack(runtime, botToken, 'auth.test', {}),
    readSlack(runtime, botToken, 'users.info', { user: id }),
  ]);
  if (!described.ok && described.error === 'missing_scope') return NO_EMAIL;
  if (!app.ok || !described.ok || !isJsonObject(described.user)) return UNREACHABLE;
  const { user } = described;
  if (app.team_id !== teamId || !isMember(user, app) || user.id !== id) return OTHER_WORKSPACE;
  if (user.deleted === true || user.is_bot === true) return NO_PERSON;
  const profile = isJsonObject(user.profile) ? user.profile : {};
  const email = textOf(profile, 'email');
  if (email === null) return NO_EMAIL;
  if (user.is_email_confirmed === false) return UNCONFIRMED;
  const name = textOf(profile, 'real_name') ?? textOf(user, 'name') ?? id;
  return { workspace: textOf(app, 'team') ?? teamId, name, email };
}

/**
 * Whether Slack describes a user as one of the app's workspace. Enterprise Grid may name the
 * organization instead: then it must be that of the app, if Slack says which one that is.
 */
function isMember(user: JsonObject, app: JsonObject): boolean {
  const teamId = textOf(user, 'team_id');
  if (teamId === null || !isOrganization(teamId)) return (teamId ?? app.team_id) === app.team_id;
  return (textOf(app, 'enterprise_id') ?? teamId) === teamId;
}

function textOf(object: JsonObject, key: string): string | null {
  const value = object[key];
  if (typeof value !== 'string' || value === '') return null;
  return value;
}
