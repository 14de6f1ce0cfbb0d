import type { Child } from 'hono/jsx';
import type { Config } from '../../env';
import type { Channel } from '../../receivers/channels/channel';
import { Code, Named } from '../parts/inline';

export type ChannelKind = Channel['kind'];

export const KINDS: readonly ChannelKind[] = ['email', 'slack'];

/** The names of the kinds of channels on the pages. */
export const KIND_NAMES: Record<ChannelKind, string> = { email: 'E-mail', slack: 'Slack' };

/** A name that a channel of each kind might have. */
export const NAME_EXAMPLES: Record<ChannelKind, string> = {
  email: 'Mail to reviewers',
  slack: 'Slack of the finance team',
};

interface KindSummaryProps {
  kind: ChannelKind;
  /** The beginning of the paragraph. */
  lead?: Child;
}

/** A paragraph about a kind of channel. */
export function KindSummary({ kind, lead }: KindSummaryProps) {
  if (kind === 'slack') {
    return (
      <p>
        {lead} It posts a message to channels of your Slack workspace, with a button that opens a
        form to decide the request. Before their first decision in Slack, people confirm in the
        console which member they are.
      </p>
    );
  }
  return (
    <p>
      {lead} It sends an e-mail to the people who can decide a request, reminds those who have not
      voted, and writes to the agent’s owner when the request is decided. Each member chooses on{' '}
      <a href="/console/me#notifications">their own page</a> what they get.
    </p>
  );
}

/** Whether the service is set up to send the messages of a kind. */
export function canSendBy(kind: ChannelKind, config: Config): boolean {
  return kind !== 'email' || config.mail !== null;
}

/** Says that the service cannot send the messages of a kind; nothing if it can. */
export function KindNotice({ kind, config }: { kind: ChannelKind; config: Config }) {
  if (canSendBy(kind, config)) return null;
  return (
    <p class="notice waiting">
      This service cannot send mail yet. Its operator can set that up: the variable{' '}
      <code>EMAIL_FROM</code>, with the binding <code>EMAIL</code> or the secret{' '}
      <code>RESEND_API_KEY</code>. Until then nobody gets these e-mails. See{' '}
      <a href="/docs/guides/configuration">the guide to configuration</a>.
    </p>
  );
}

/** To whom a message goes. */
export function Recipient({
  member,
  slackChannel,
}: {
  member: string | null;
  slackChannel: string | null;
}) {
  if (member !== null) return <Named id={member} />;
  return slackChannel === null ? <>the address of the account</> : <Code text={slackChannel} />;
}
