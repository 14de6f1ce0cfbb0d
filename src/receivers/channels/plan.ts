import { OPERATOR } from '../../http/activity';
import type { Id } from '../../lib/typeid';
import { parseId } from '../../lib/typeid';
import type { Concerned } from '../../permissions/reviews/reviewers';
import type { PlannedNotifications } from '../webhooks/dispatch/fan-out-context';
import type { People } from './plan-people';

/** The plan while it is made. */
export interface Plan {
  messages: PlannedNotifications['messages'][number][];
  held: PlannedNotifications['held'][number][];
  disabledNotices: PlannedNotifications['disabledNotices'][number][];
  accountNotices: PlannedNotifications['accountNotices'][number][];
  reminders: Map<Id<'perm'>, number>;
  devices: PlannedNotifications['devices'][number][];
}

/** The facts from which a plan is made. */
export interface Situation {
  people: People;
  /** How people stand to the permissions of the events. */
  concerned: readonly Concerned[];
  /** Which Slack channels have a message about which permission, by the number of the channel. */
  posts: readonly { channel: number; permission: Id<'perm'>; slackChannel: string }[];
  /** How many mails each person got in this minute. */
  mails: Map<Id<'member'>, number>;
  /** The names of the members who stopped or resumed the account, by their ids. */
  names: ReadonlyMap<string, string>;
}

/** How messages name who stopped or resumed the account. */
export function nameOfActor(by: string, names: Situation['names']): string {
  if (by === OPERATOR) return 'the operator of the service';
  if (parseId('user', by)) return 'a token of the account';
  return names.get(by) ?? by;
}
