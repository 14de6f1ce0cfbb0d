import { Hono } from 'hono';
import { notFound, Problem } from '../../errors';
import type { AppEnv, UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { parseId } from '../../lib/typeid';
import { MAX_CHANNELS } from '../../receivers/channels/channel';
import { type SlackLink, unlinkSlackUser } from '../../receivers/channels/slack/links';
import { listReceivers } from '../../receivers/receiver';
import { readForm } from '../frame/form';
import { Section } from '../parts/blocks';
import { Action } from '../parts/form';
import { Code, Time, Written } from '../parts/inline';
import { type ConsoleContext, consoleAccess } from '../session/access';
import { redirectWithFlash } from '../session/flash';

const PATH = '/console/me/slack/unlink';

interface SlackUsersProps {
  links: readonly SlackLink[];
  mayLink: boolean;
}

/**
 * Whether a member can link a Slack user to decide with: whether a Slack channel is on. Approvers
 * may not read channels, and learn no more of them than that.
 */
export async function mayLinkSlackUser(context: UserContext): Promise<boolean> {
  if (!context.principal.scopes.includes('permissions:decide')) return false;
  const { data } = await listReceivers(context, 'channel', { limit: MAX_CHANNELS });
  return data.some(({ kind, isActive }) => kind === 'slack' && isActive);
}

/** The Slack users who act as the member; without any, how to link one. */
export function SlackUsers({ links, mayLink }: SlackUsersProps) {
  if (links.length === 0) return mayLink ? <HowToLink /> : null;
  return (
    <Section name="slack" id="slack" title="Slack">
      <p class="soft">What these Slack users decide in Slack is recorded as decided by you.</p>
      <ul class="lines">
        {links.map(({ channel_id, channel_name, team, user, linked_at }) => (
          <li>
            <span>
              <Written text={channel_name} />
              <small>
                <Code text={user} /> of the workspace <Code text={team} />, linked{' '}
                <Time at={linked_at} />
              </small>
            </span>
            <Action action={PATH} label="Unlink" fields={{ channel: channel_id, team, user }} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

/**
 * Says how to link a Slack user. It begins in Slack, whose signed request says who pressed a
 * button.
 */
function HowToLink() {
  return (
    <Section name="slack" id="slack" title="Slack">
      <p>
        You can decide requests in Slack once your Slack user is linked to you. Press the button of
        a request in Slack: you get a private message with a link. Open it in this browser, and
        confirm.
      </p>
      <p class="hint">Your e-mail address in Slack must be the same as here.</p>
    </Section>
  );
}

/** Ends a link of the member who is signed in. */
async function unlink(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const { member } = context.principal;
  if (!member)
    throw new Problem('person_required', 'A token of the account has no linked Slack users.');
  const form = await readForm(c);
  const channel = parseId('chan', form.text('channel'));
  if (!channel) throw notFound('linked Slack user');
  await unlinkSlackUser(context, {
    channel,
    user: { id: form.text('user'), teamId: form.text('team') },
    member,
  });
  return redirectWithFlash(c, '/console/me', 'deleted');
}

export const unlinkRoutes = new Hono<AppEnv>().post(PATH, consoleAccess(null), noQuery(), unlink);
