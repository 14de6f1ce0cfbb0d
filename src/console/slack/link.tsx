import { Hono } from 'hono';
import { getOwnAccount } from '../../accounts/me/get';
import { invalidRequest, Problem } from '../../errors';
import type { AppEnv, MemberRef, Reader, RequestContext } from '../../http/context';
import { query } from '../../http/input';
import type { CallerSql } from '../../identity/credentials';
import { isRecentSignIn } from '../../identity/sessions/recent-sign-in';
import { requirePerson } from '../../identity/sessions/require-person';
import { isSameEmailAddress } from '../../lib/email-address';
import {
  describeSlackUser,
  type SlackIdentity,
} from '../../receivers/channels/slack/describe-user';
import type { SlackUser } from '../../receivers/channels/slack/interaction';
import { LinkQuery, readLinkAddress } from '../../receivers/channels/slack/link-address';
import { linkSlackUser, selectLinkedChannel } from '../../receivers/channels/slack/links';
import { openSecrets } from '../../receivers/channels/slack/secrets';
import type { ReceiverRow } from '../../receivers/receiver';
import { readForm } from '../frame/form';
import { sendPage } from '../frame/page';
import { Facts } from '../parts/blocks';
import { Form } from '../parts/form';
import { Written } from '../parts/inline';
import { SignInAgain } from '../parts/sign-in-again';
import { consoleAccess, type PreloadedContext } from '../session/access';
import { redirectWithFlash } from '../session/flash';

const PATH = '/console/slack/link';

/** Preloads the channel that the address names. */
async function preloadLinkedChannel(c: RequestContext, reader: Reader, { account }: CallerSql) {
  return { channel: selectLinkedChannel(reader, account, c.req.query('channel') ?? '') };
}

type LinkContext = PreloadedContext<typeof preloadLinkedChannel>;

/** The page on which a member confirms that a Slack user is theirs. */
export const linkRoutes = new Hono<AppEnv>()
  .get(PATH, query(LinkQuery), consoleAccess(null, preloadLinkedChannel), async (c) =>
    sendLinkPage(c, await readProposal(c)),
  )
  .post(PATH, query(LinkQuery), consoleAccess(null, preloadLinkedChannel), confirmLink);

/** A Slack user who asks to be linked to the member who is signed in. */
interface Proposal {
  channel: ReceiverRow;
  user: SlackUser;
  member: MemberRef;
  email: string | null;
  /** As Slack describes the user now; a text says why it does not. */
  identity: SlackIdentity | string;
}

/**
 * Reads who asks to be linked, and asks Slack who that is.
 * @throws Problem `person_required` for a session of a user token; `invalid_signature` for an
 *   address that was changed or has expired, or is older than the channel's secrets; `not_found`
 *   for the channel of another account
 */
async function readProposal(c: LinkContext): Promise<Proposal> {
  const { signedIn, config, runtime, loaded } = c.var;
  const member = requirePerson(signedIn.context.principal);
  const fields = LinkQuery().parse(c.req.query());
  const [channel] = loaded.channel ?? [];
  const user = channel && (await readLinkAddress(config, runtime, fields, channel));
  if (!user && (channel || !loaded.channel)) {
    throw new Problem(
      'invalid_signature',
      'The link from Slack has expired, or was changed. Press the button in Slack again: then you get a new one.',
    );
  }
  const secrets = channel && (await openSecrets(config.keyring, channel));
  if (!user || !secrets) {
    throw new Problem(
      'not_found',
      'The channel of this link belongs to another account than the one you are signed in to, or was deleted.',
    );
  }
  const [me, identity] = await Promise.all([
    getOwnAccount(signedIn.context),
    describeSlackUser(runtime, secrets.botToken, user),
  ]);
  return { channel, user, member, email: me.member?.email ?? null, identity };
}

/**
 * Links the Slack user to the member, who signed in within the last 10 minutes. Otherwise shows the
 * page again, which says what to do.
 * @throws Problem as {@link readProposal}; `conflict` if the channel was changed meanwhile
 */
async function confirmLink(c: LinkContext): Promise<Response> {
  const { signedIn } = c.var;
  const proposal = await readProposal(c);
  const decision = (await readForm(c)).text('decision');
  if (decision !== 'confirm')
    throw invalidRequest([{ path: 'body.decision', message: 'must be confirm' }]);
  if (refusalOf(proposal) !== null || !isRecentSignIn(signedIn))
    return sendLinkPage(c, proposal, 403);
  await linkSlackUser(signedIn.context, proposal);
  return redirectWithFlash(c, '/console/me', 'saved');
}

/** Why the Slack user cannot be linked; null if they can. */
function refusalOf({ identity, email }: Proposal): string | null {
  if (typeof identity === 'string') return identity;
  if (email === null)
    return 'You have no e-mail address here, so it cannot be compared with the one in Slack.';
  if (isSameEmailAddress(identity.email.trim(), email)) return null;
  return 'The e-mail addresses differ. Sign in as the member who has the same address as the Slack user.';
}

function sendLinkPage(c: LinkContext, proposal: Proposal, status = 200): Response {
  const { signedIn } = c.var;
  const { pathname, search } = new URL(c.req.url);
  const page = pathname + search;
  const refusal = refusalOf(proposal);
  const children = (
    <>
      <p class="notice waiting">
        Confirm only if you yourself just pressed the button in Slack. Whatever this Slack user then
        decides there is recorded as decided by you.
      </p>
      <section class="card" aria-label="What you confirm">
        <Terms
          proposal={proposal}
          caller={signedIn.names.caller}
          account={signedIn.names.account}
        />
      </section>
      {refusal !== null && (
        <p class="notice bad" role="alert">
          {refusal}
        </p>
      )}
      {refusal === null && <SignInAgain page={page} purpose="To confirm" />}
      {refusal === null && isRecentSignIn(signedIn) && (
        <Form action={page}>
          <div class="actions">
            <button type="submit" name="decision" value="confirm">
              Link
            </button>
          </div>
        </Form>
      )}
    </>
  );
  return sendPage(c, { title: 'Link your Slack account?', isNarrow: true, status, children });
}

/** Who is linked to whom. */
function Terms({
  proposal,
  caller,
  account,
}: {
  proposal: Proposal;
  caller: string;
  account: string;
}) {
  const { channel, user, member, email } = proposal;
  const identity = typeof proposal.identity === 'string' ? null : proposal.identity;
  return (
    <Facts
      facts={[
        ['Workspace', <Written text={identity?.workspace ?? user.teamId} />],
        ['Slack user', <Written text={identity?.name ?? user.id} />],
        identity && ['E-mail in Slack', <Written text={identity.email} />],
        ['Acts as', [<bdi>{caller}</bdi>, ', ', member.role, ' of ', <bdi>{account}</bdi>]],
        email !== null && ['E-mail here', <Written text={email} />],
        ['Channel', <Written text={channel.name ?? ''} />],
      ]}
    />
  );
}
