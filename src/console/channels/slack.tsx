import { PlainList, ToCopy } from '../parts/blocks';
import { Code } from '../parts/inline';
import { filterText } from './filter';
import type { SlackChannel } from './slack-fields';

/** The Slack channels to which a channel posts, each with its limits. */
export function SlackChannels({ channels }: { channels: readonly SlackChannel[] }) {
  return (
    <PlainList
      items={channels.map(({ id, filter }) => {
        const limits = filterText(filter);
        return (
          <>
            <Code text={id} />
            {limits && <span class="soft"> only for {limits}</span>}
          </>
        );
      })}
    />
  );
}

interface SlackSetupProps {
  /** Null if the secrets of the channel can no longer be read. */
  inboundUrl: string | null;
  /** Whether the box is open at first. */
  isOpen: boolean;
}

/** How to set up the Slack app of a channel, with the address that it calls. */
export function SlackSetup({ inboundUrl, isOpen }: SlackSetupProps) {
  if (inboundUrl === null) {
    return (
      <p class="notice bad">
        The bot token and the signing secret can no longer be read. Change the channel, and type
        both again.
      </p>
    );
  }
  return (
    <div class="part">
      <details open={isOpen}>
        <summary>Set up the Slack app</summary>
        <ol>
          <li>
            1. Give the app the bot scopes <code>chat:write</code>, <code>users:read</code> and{' '}
            <code>users:read.email</code>, and install it in your workspace.
          </li>
          <li>2. Invite its bot to each Slack channel.</li>
          <li>
            3. Under “Interactivity & Shortcuts” of the app, enter this request URL. Keep it secret.
          </li>
        </ol>
        <ToCopy id="inbound-url" text={inboundUrl} label="Request URL" />
      </details>
    </div>
  );
}
