import { Hono } from 'hono';
import { type SlackLink, unlinkSlackUser } from '../../channels/slack/links';
import { notFound, Problem } from '../../errors';
import type { AppEnv } from '../../http/context';
import { noQuery } from '../../http/input';
import { parseId } from '../../lib/typeid';
import { readForm } from '../frame/form';
import { Section } from '../parts/blocks';
import { Action } from '../parts/form';
import { Code, Time, Written } from '../parts/inline';
import { type ConsoleContext, consoleAccess, consoleRoute } from '../session/access';

const PATH = '/console/me/slack/unlink';

/** The Slack users who act as the member. Nothing without any: the way to link one begins in Slack. */
export function SlackUsers({ links }: { links: readonly SlackLink[] }) {
  if (links.length === 0) return null;
  return (
    <Section name="slack" id="slack" title="Slack">
      <p class="soft">What these Slack users decide in Slack is recorded as decided by you.</p>
      <ul class="lines">
        {links.map(({ channel_id, channel_name, team, user, linked_at }) => (
          <li>
            <span>
              <Written text={channel_name} />
              <small>
                <Code text={user} /> of the workspace <Code text={team} />, linked <Time at={linked_at} />
              </small>
            </span>
            <Action action={PATH} label="Unlink" fields={{ channel: channel_id, team, user }} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Ends a link of the member who is signed in. */
async function unlink(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const { member } = context.principal;
  if (!member) throw new Problem('person_required', 'A token of the account has no linked Slack users.');
  const form = await readForm(c);
  const channel = parseId('chan', form.text('channel'));
  if (!channel) throw notFound('linked Slack user');
  await unlinkSlackUser(context, { channel, user: { id: form.text('user'), teamId: form.text('team') }, member });
  return c.redirect('/console/me', 303);
}

export const unlinkRoutes = new Hono<AppEnv>().post(PATH, consoleRoute, consoleAccess(null), noQuery(), unlink);
