import { pathId } from '../../http/path-id';
import {
  type Channel,
  describeChannel,
  type preloadChannel,
  presentChannel,
  requireChannel,
} from '../../receivers/channels/channel';
import { deleteChannel } from '../../receivers/channels/delete';
import { listChannelDeliveries } from '../../receivers/channels/deliveries/list';
import { testChannel } from '../../receivers/channels/send-test';
import { slackChannelsOf } from '../../receivers/channels/slack/config';
import { updateChannel } from '../../receivers/channels/update';
import { DeliveryStatus } from '../../receivers/deliveries/delivery';
import { type Refusal, refusalOf } from '../frame/form';
import { loadNames } from '../frame/names';
import { sendPage } from '../frame/page';
import { Facts, ListOrAll, PAGE_SIZE } from '../parts/blocks';
import { Alert } from '../parts/form';
import { Code, Creator, Named, Time, Written } from '../parts/inline';
import { Deliveries } from '../receivers/deliveries';
import { OF_CHANNELS } from '../receivers/events';
import { eventsText } from '../receivers/fields';
import {
  DeleteBox,
  ReceiverActions,
  ReceiverState,
  readSwitch,
} from '../receivers/receiver-actions';
import type { ConsoleContext, PreloadedContext } from '../session/access';
import { redirectWithFlash } from '../session/flash';
import { canSendBy, KIND_NAMES, KindNotice, KindSummary, Recipient } from './kinds';
import { SlackChannels, SlackSetup } from './slack';

export type ChannelContext = PreloadedContext<typeof preloadChannel>;

/**
 * Shows the channel in the path: what it sends, what one can do with it, and its deliveries.
 * @param refusal why the change in this request was refused
 */
export async function showChannel(c: ChannelContext, refusal?: Refusal): Promise<Response> {
  const { context } = c.var.signedIn;
  const row = requireChannel(c.var.loaded.channel);
  const status = DeliveryStatus().options.find((status) => status === c.req.query('status'));
  const [deliveries, names] = await Promise.all([
    listChannelDeliveries(context, {
      channel: row,
      limit: PAGE_SIZE,
      status,
      cursor: c.req.query('cursor'),
    }),
    loadNames(context, row.agentIds === null ? ['people'] : ['people', 'agents']),
  ]);
  const channel = await describeChannel(context, row);
  const { kind, name, disabled_reason, is_active, updated_at } = channel;
  const hasDeliveries = deliveries.data.length > 0 || c.req.query('cursor') !== undefined;
  const mayWrite = context.principal.scopes.includes('channels:write');
  const canSend = canSendBy(kind, context.config);
  const path = `/console/channels/${channel.id}`;
  return sendPage(c, {
    title: name,
    names,
    heading: <Written text={name} />,
    status: refusal?.status,
    children: (
      <>
        {refusal && <Alert>{refusal.detail}</Alert>}
        <p class="actions">
          <ReceiverState {...channel} />
          <span class="soft">{KIND_NAMES[kind]}</span>
        </p>
        {disabled_reason && (
          <p class="notice bad">
            Countersign has stopped sending through this channel. {disabled_reason}
            {mayWrite && ' Fix the cause, then switch the channel on.'}
          </p>
        )}
        <KindNotice kind={kind} config={context.config} />
        <KindSummary kind={kind} />
        <AboutChannel channel={channel} />
        {kind === 'slack' && mayWrite && (
          <SlackSetup
            inboundUrl={channel.inbound_url}
            isOpen={c.req.query('status') === undefined && !hasDeliveries}
          />
        )}
        {mayWrite && (
          <>
            <ReceiverActions
              path={path}
              is_active={is_active}
              updated_at={updated_at}
              canTest={canSend}
            />
            <div class="part">
              <DeleteBox path={path} noun="channel">
                It sends nothing more, and its deliveries are deleted too. This cannot be undone.
              </DeleteBox>
            </div>
          </>
        )}
        <Deliveries
          path={path}
          status={status}
          page={deliveries}
          address={new URL(path + new URL(c.req.url).search, c.req.url)}
          recipient={({ member_id, slack_channel }) => (
            <Recipient member={member_id} slackChannel={slack_channel} />
          )}
          advice={is_active && mayWrite && canSend && TEST_ADVICE[kind]}
        />
      </>
    ),
  });
}

const TEST_ADVICE: Record<Channel['kind'], string> = {
  email: 'Send a test message to yourself, to see whether it arrives.',
  slack: 'Send a test message, to see whether it arrives.',
};

function AboutChannel({ channel }: { channel: Channel }) {
  const { kind, events, filter, created_by, created_at, updated_at } = channel;
  const { actions, agent_ids: agents } = filter ?? {};
  return (
    <Facts
      facts={[
        kind === 'slack' && [
          'Slack channels',
          <SlackChannels channels={slackChannelsOf(channel)} />,
        ],
        ['Events', eventsText(OF_CHANNELS, events)],
        [
          'Actions',
          <ListOrAll values={actions} show={(text) => <Code text={text} />} all="All actions" />,
        ],
        ['Agents', <ListOrAll values={agents} show={(id) => <Named id={id} />} all="All agents" />],
        ['Created', <Time at={created_at} />],
        ['Created by', <Creator id={created_by} />],
        ['Changed', <Time at={updated_at} />],
      ]}
    />
  );
}

/**
 * Switches the channel in the path on or off: on, only if nobody changed it since the page was
 * shown.
 */
export async function switchChannel(c: ChannelContext): Promise<Response> {
  const { id, updated_at } = presentChannel(requireChannel(c.var.loaded.channel));
  try {
    const is_active = await readSwitch(c, 'channel', updated_at);
    await updateChannel(c.var.signedIn.context, { id, agents: [], is_active });
  } catch (error) {
    return showChannel(c, refusalOf(error));
  }
  return redirectWithFlash(c, `/console/channels/${id}`, 'saved');
}

/** Deletes the channel in the path. */
export async function removeChannel(c: ConsoleContext): Promise<Response> {
  await deleteChannel(c.var.signedIn.context, { id: pathId(c, 'chan', 'channel') });
  return redirectWithFlash(c, '/console/channels', 'deleted');
}

/** Sends a test by the channel in the path, and shows its delivery. */
export async function sendChannelTest(c: ChannelContext): Promise<Response> {
  const channel = requireChannel(c.var.loaded.channel);
  try {
    const { id, channel_id } = await testChannel(c.var.signedIn.context, { channel });
    return redirectWithFlash(c, `/console/channels/${channel_id}/deliveries/${id}`, 'sent');
  } catch (error) {
    return showChannel(c, refusalOf(error));
  }
}
