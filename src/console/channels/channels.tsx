import { type Channel, MAX_CHANNELS } from '../../receivers/channels/channel';
import { listChannels } from '../../receivers/channels/list';
import {
  countRecentDeliveries,
  type RecentDeliveries,
} from '../../receivers/deliveries/count-recent';
import { sendPage } from '../frame/page';
import { Empty, LinkButton } from '../parts/blocks';
import { WrittenLink } from '../parts/inline';
import { OF_CHANNELS } from '../receivers/events';
import { eventsText } from '../receivers/fields';
import { ReceiverState } from '../receivers/receiver-actions';
import { RecentResults } from '../receivers/recent';
import type { ConsoleContext } from '../session/access';
import { filterText } from './filter';
import { type ChannelKind, KIND_NAMES, KINDS, KindNotice, KindSummary } from './kinds';

/** Shows the account's channels: which events each one sends, and whether that works. */
export async function showChannels(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const [{ data }, recent] = await Promise.all([
    listChannels(context, { limit: MAX_CHANNELS }),
    countRecentDeliveries(context, 'channel'),
  ]);
  const mayWrite = context.principal.scopes.includes('channels:write');
  const isOfEmail = data.length === 0 || data.some(({ kind }) => kind === 'email');
  return sendPage(c, {
    title: 'Channels',
    children: (
      <>
        {isOfEmail && <KindNotice kind="email" config={context.config} />}
        {data.length === 0 && (
          <Empty title="There are no channels yet.">
            <p>A channel notifies people of requests, so that nobody has to watch the inbox.</p>
            {KINDS.map((kind) => (
              <KindSummary kind={kind} lead={<strong>{KIND_NAMES[kind]}.</strong>} />
            ))}
            {mayWrite && <CreateButtons />}
            {!mayWrite && <p>An admin or owner can create one.</p>}
          </Empty>
        )}
        {data.length > 0 && (
          <>
            <div class="bar">
              <p class="soft">
                Channels notify people of requests. Each member chooses on{' '}
                <a href="/console/me#notifications">their own page</a> which e-mails they get.
              </p>
              {mayWrite && <CreateButtons />}
            </div>
            <ul class="files">
              {data.map((channel) => (
                <ChannelRow channel={channel} recent={recent.get(channel.id)} />
              ))}
            </ul>
          </>
        )}
      </>
    ),
  });
}

/** A button for each kind of channel that can be created. */
function CreateButtons() {
  return (
    <div class="actions">
      {KINDS.map((kind) => (
        <LinkButton href={`/console/channels/new?kind=${kind}`} label={CREATE_LABELS[kind]} />
      ))}
    </div>
  );
}

const CREATE_LABELS: Record<ChannelKind, string> = {
  email: 'Notify people by e-mail',
  slack: 'Notify people in Slack',
};

function ChannelRow({
  channel,
  recent,
}: {
  channel: Channel;
  recent: RecentDeliveries | undefined;
}) {
  const { id, kind, name, events, filter, disabled_reason } = channel;
  const limits = filterText(filter);
  return (
    <li>
      <div class="what">
        <h2 class="first-lines">
          <WrittenLink href={`/console/channels/${id}`} text={name} />
        </h2>
        <p class="soft">
          {KIND_NAMES[kind]} · {eventsText(OF_CHANNELS, events)}
        </p>
        {limits && <p class="soft first-lines">Only for {limits}</p>}
      </div>
      <div class="side">
        <p>
          <ReceiverState {...channel} />
        </p>
        {disabled_reason && <p class="fault">{disabled_reason}</p>}
        <RecentResults recent={recent} />
      </div>
    </li>
  );
}
