import type { FieldError } from '../../errors';
import type { Reader, RequestContext } from '../../http/context';
import type { CallerSql } from '../../identity/credentials';
import {
  type Channel,
  preloadChannel,
  presentChannel,
  requireChannel,
} from '../../receivers/channels/channel';
import { ChannelCreation, createChannel } from '../../receivers/channels/create';
import { slackChannelsOf } from '../../receivers/channels/slack/config';
import { ChannelUpdate, updateChannel } from '../../receivers/channels/update';
import {
  changedFields,
  nullIfEmpty,
  type Refusal,
  readForm,
  refusalOf,
  requireUnchanged,
  type SentForm,
  ShownState,
  validate,
} from '../frame/form';
import { loadNames } from '../frame/names';
import { sendPage } from '../frame/page';
import { HiddenFields, TextArea, TextField } from '../parts/fields';
import { Form, Submit } from '../parts/form';
import { SignInAgain } from '../parts/sign-in-again';
import { readPatterns, writePatterns } from '../policies/patterns';
import { OF_CHANNELS } from '../receivers/events';
import {
  AgentChoices,
  agentsInWords,
  EventFields,
  preloadFormAgents,
  receiverForm,
} from '../receivers/fields';
import type { ConsoleContext, PreloadedContext, SignedInRequest } from '../session/access';
import { redirectWithFlash } from '../session/flash';
import { type ChannelKind, KIND_NAMES, KindNotice, KindSummary, NAME_EXAMPLES } from './kinds';
import {
  inFormWords,
  readSlackFields,
  repeatedLineFaults,
  SlackAppFields,
  type SlackFields,
  slackConfigFaults,
  slackConfigOf,
  slackFieldsOf,
  slackPartsOf,
} from './slack-fields';

/** Shows the form that creates a channel, of the kind in the address; by default for e-mail. */
export function showNewChannel(c: ConsoleContext): Promise<Response> {
  const kind = readKind(c.req.query('kind'));
  const events = OF_CHANNELS.map(([event]) => event);
  const slack = kind === 'slack' ? slackFieldsOf([]) : null;
  return sendChannelForm(c, null, { kind, name: '', events, actions: '', agent_ids: [], slack });
}

function readKind(text: string | undefined): ChannelKind {
  return text === 'slack' ? 'slack' : 'email';
}

/** Creates a channel. If that is refused, shows the form again and why. */
export async function addChannel(c: PreloadedContext<typeof preloadFormAgents>): Promise<Response> {
  const form = await readForm(c);
  const kind = readKind(form.text('kind'));
  const fields = readChannelFields(form, kind);
  try {
    const input = validate(ChannelCreation(), { kind, ...inputOf(fields, null) }, faultsOf(fields));
    const agents = c.var.loaded.agents ?? [];
    const { id } = await c.var.once((context) => createChannel(context, { agents, ...input }));
    return redirectWithFlash(c, `/console/channels/${id}`, 'created');
  } catch (error) {
    return sendChannelForm(c, null, fields, refusalOf(error));
  }
}

/** Preloads the channel in the path, and those agents of the form that the account has. */
export async function preloadFormChannel(c: RequestContext, reader: Reader, caller: CallerSql) {
  return {
    ...(await preloadChannel(c, reader, caller)),
    ...(await preloadFormAgents(c, reader, caller)),
  };
}

/** Shows the form that changes the channel in the path. */
export function showChannelForm(c: PreloadedContext<typeof preloadChannel>): Promise<Response> {
  const channel = presentChannel(requireChannel(c.var.loaded.channel));
  return sendChannelForm(c, channel, fieldsOf(channel));
}

/**
 * Changes the fields that differ from the channel as it is. If that is refused, shows the form
 * again and why.
 */
export async function editChannel(
  c: PreloadedContext<typeof preloadFormChannel>,
): Promise<Response> {
  const channel = presentChannel(requireChannel(c.var.loaded.channel));
  const form = await readForm(c);
  const fields = readChannelFields(form, channel.kind);
  try {
    const changed = changedFields(partsOf(fieldsOf(channel)), partsOf(fields));
    const paths = Object.keys(changed);
    if (paths.length > 0) {
      requireUnchanged('channel', form, channel.updated_at, inWords(channel), changed);
      const isChanged = (name: string) =>
        paths.some((path) => path === name || path.startsWith(`${name}.`));
      const all = Object.entries(inputOf(fields, channel));
      const changes = Object.fromEntries(all.filter(([name]) => isChanged(name)));
      const input = validate(ChannelUpdate(), changes, faultsOf(fields, changes.config));
      const agents = [...(c.var.loaded.agents ?? []), ...agentsOfSlackFilters(channel)];
      await updateChannel(c.var.signedIn.context, { id: channel.id, agents, ...input });
    }
  } catch (error) {
    return sendChannelForm(c, channel, fields, refusalOf(error));
  }
  return redirectWithFlash(c, `/console/channels/${channel.id}`, 'saved');
}

/** The fields of the form. */
interface ChannelFields {
  kind: ChannelKind;
  name: string;
  events: string[];
  /** One pattern a line; empty for all actions. */
  actions: string;
  /** Empty for all agents. */
  agent_ids: string[];
  /** Null for e-mail. */
  slack: SlackFields | null;
}

function readChannelFields(form: SentForm, kind: ChannelKind): ChannelFields {
  return {
    kind,
    name: form.text('name').trim(),
    events: form.list('events'),
    actions: form.text('actions'),
    agent_ids: form.list('agent_ids'),
    slack: kind === 'slack' ? readSlackFields(form) : null,
  };
}

/** The fields of a channel as it is. */
function fieldsOf(channel: Channel): ChannelFields {
  const { kind, name, events, filter } = channel;
  return {
    kind,
    name,
    events,
    actions: writePatterns(filter?.actions ?? []),
    agent_ids: filter?.agent_ids ?? [],
    slack: kind === 'slack' ? slackFieldsOf(slackChannelsOf(channel)) : null,
  };
}

/**
 * The parts of a channel that can be changed by themselves, under the paths of the API's errors.
 */
function partsOf({ name, events, actions, agent_ids, slack }: ChannelFields) {
  const parts = {
    name,
    events,
    'filter.actions': readPatterns(actions),
    'filter.agent_ids': agent_ids,
  };
  return { ...parts, ...(slack && slackPartsOf(slack)) };
}

/** The parts of a channel as they are now, in words. */
function inWords(channel: Channel): Record<string, string> {
  const { kind, name, events, filter } = channel;
  const slackChannels = slackChannelsOf(channel).map(({ id }) => id);
  return {
    name,
    events: events.join(', '),
    'filter.actions': filter?.actions?.join(', ') ?? 'all actions',
    'filter.agent_ids': agentsInWords(filter?.agent_ids),
    ...(kind === 'slack' && { 'config.channels': slackChannels.join(', ') }),
  };
}

/**
 * The fields as the API takes them.
 * @param channel the channel before the change; null for a new one
 */
function inputOf(fields: ChannelFields, channel: Channel | null): Record<string, unknown> {
  const { name, events, actions, agent_ids, slack } = fields;
  const filter = {
    actions: nullIfEmpty(readPatterns(actions)),
    agent_ids: nullIfEmpty(agent_ids),
  };
  const slackChannels = channel ? slackChannelsOf(channel) : [];
  return {
    name,
    events,
    filter: filter.actions || filter.agent_ids ? filter : null,
    ...(slack && { config: slackConfigOf(slack, slackChannels) }),
  };
}

/**
 * The faults of the fields for Slack that the schemas of creation and change do not find.
 * @param config the `config` of a change
 */
function faultsOf({ slack }: ChannelFields, config?: unknown): FieldError[] {
  if (!slack) return [];
  const faults = repeatedLineFaults(slack);
  if (config === undefined) return faults;
  return [...faults, ...slackConfigFaults(config)];
}

/**
 * The agents in the filters of Slack channels. The form does not change these filters, so they were
 * checked before.
 */
function agentsOfSlackFilters(channel: Channel): { id: string }[] {
  return slackChannelsOf(channel).flatMap(({ filter }) =>
    (filter?.agent_ids ?? []).map((id) => ({ id })),
  );
}

/** Answers with the form that changes a channel, or creates one if there is none yet. */
async function sendChannelForm(
  c: SignedInRequest,
  channel: Channel | null,
  { kind, name, events, actions, agent_ids, slack }: ChannelFields,
  refused?: Refusal,
): Promise<Response> {
  const refusal = refused && slack ? inFormWords(refused, slack) : refused;
  const { context } = c.var.signedIn;
  const names = await loadNames(context, ['agents']);
  const { title, path, action, page, label } = receiverForm('channel', channel, { kind });
  return sendPage(c, {
    title,
    isNarrow: true,
    names,
    status: refusal?.status,
    children: (
      <>
        <KindNotice kind={kind} config={context.config} />
        <SignInAgain page={page} purpose="To save a channel" />
        <Form action={action} refusal={refusal} class="card" creates={!channel}>
          {channel && <ShownState updatedAt={channel.updated_at} />}
          {!channel && <HiddenFields fields={{ kind }} />}
          <div class="part">
            <h2>{KIND_NAMES[kind]}</h2>
            <KindSummary kind={kind} />
          </div>
          <TextField
            label="Name"
            name="name"
            value={name}
            required
            maxlength={255}
            placeholder={NAME_EXAMPLES[kind]}
            autocomplete="off"
            hint="People recognize the channel by this name."
          />
          {slack && <SlackAppFields slackChannels={slack.slackChannels} isNew={!channel} />}
          <EventFields known={OF_CHANNELS} events={events} />
          <TextArea
            label="Actions (optional)"
            name="actions"
            path="filter.actions"
            value={actions}
            rows={3}
            spellcheck={false}
            hint={[
              'Limits the messages to requests for these actions, one pattern per line. ',
              <code>payment.*</code>,
              ' means every action that begins with “payment.”. If the field is empty, all actions count.',
            ]}
          />
          <AgentChoices
            path="filter.agent_ids"
            agentIds={agent_ids}
            hint="Limits the messages to requests of the agents that are checked. If none is checked, all agents count."
          />
          <Submit label={label} cancel={path} />
        </Form>
      </>
    ),
  });
}
