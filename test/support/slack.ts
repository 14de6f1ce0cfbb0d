import type { World } from './world';

// biome-ignore lint/suspicious/noExplicitAny: bodies are what a client sends, valid or not
type Json = any;

/** A message as the fake Slack keeps it. */
export interface KeptMessage {
  channel: string;
  ts: string;
  text: string;
  blocks: Json[];
  /** How often it was updated. */
  updates: number;
}

interface SlackPerson {
  id: string;
  team_id: string;
  email: string;
  name: string;
}

/** How long a trigger opens a modal. */
const TRIGGER_LIFETIME = 3_000;

let apps = 0;

/**
 * Slack as far as the tests need it: one app in one workspace. It checks tokens, refuses what
 * Slack's documented limits refuse with Slack's error codes, and keeps what it accepts. It escapes
 * nothing, and counts characters as if all were escaped.
 */
export class FakeSlack {
  readonly token: string;
  readonly signingSecret: string;
  readonly teamId = 'T0WORKSPACE';
  /** The organization of the workspace in Enterprise Grid. */
  organizationId: string | null = null;
  /** The channels of which the app is a member. */
  readonly channels = new Set(['C0APPROVALS']);
  /** Channels that exist, but of which the app is no member. */
  readonly otherChannels = new Set(['C0ELSEWHERE']);
  readonly archived = new Set<string>();
  readonly people = new Map<string, SlackPerson>();
  readonly messages: KeptMessage[] = [];
  /** Messages that only one person sees. */
  readonly privateMessages: { channel: string; user: string; text: string; blocks: Json[] }[] = [];
  /** The views that were opened, with the trigger that opened them. */
  readonly views: Json[] = [];
  /** Every call that was accepted or refused, in order. */
  readonly calls: { method: string; body: Json; answer: Json }[] = [];
  /** Refuses the next calls with these error codes; `ratelimited` with status 429. */
  readonly failures: string[] = [];
  /** In seconds: sent with status 429. */
  retryAfter = 30;
  private readonly triggers = new Map<string, number>();
  private count = 0;

  constructor(private readonly world: World) {
    apps += 1;
    this.token = `xoxb-${apps}-000000000000-abcdefghijklmnop`;
    this.signingSecret = `${apps}`.padStart(32, 'a1');
    this.addPerson('U0ADA', 'ada@example.com', 'Ada');
    world.internet.on('slack.com', ({ url, headers, body }) => this.answer(url, headers, body));
  }

  /** A part of a channel's `config` for this app. */
  get config() {
    return {
      bot_token: this.token,
      signing_secret: this.signingSecret,
      channels: [{ id: 'C0APPROVALS' }],
    };
  }

  addPerson(id: string, email: string, name: string): void {
    this.people.set(id, { id, team_id: this.teamId, email, name });
  }

  /** The headers with which Slack signs a body. */
  async sign(body: string, at = this.world.now): Promise<Record<string, string>> {
    const timestamp = String(Math.floor(at / 1_000));
    const encoder = new TextEncoder();
    const algorithm = { name: 'HMAC', hash: 'SHA-256' };
    const key = await crypto.subtle.importKey(
      'raw',
      encoder.encode(this.signingSecret),
      algorithm,
      false,
      ['sign'],
    );
    const mac = await crypto.subtle.sign('HMAC', key, encoder.encode(`v0:${timestamp}:${body}`));
    return {
      'Content-Type': 'application/x-www-form-urlencoded',
      'X-Slack-Request-Timestamp': timestamp,
      'X-Slack-Signature': `v0=${new Uint8Array(mac).toHex()}`,
    };
  }

  /** The body of the request that a click on a button of a message sends. */
  click(message: KeptMessage, actionId: string, userId = 'U0ADA'): string {
    const buttons: Json[] = message.blocks.flatMap((block) =>
      block.type === 'actions' ? block.elements : [],
    );
    const button = buttons.find(({ action_id }) => action_id === actionId);
    if (!button) throw new Error(`The message has no button ${actionId}`);
    return encodePayload({
      type: 'block_actions',
      ...this.acting(userId),
      trigger_id: this.trigger(),
      container: {
        type: 'message',
        message_ts: message.ts,
        channel_id: message.channel,
        is_ephemeral: false,
      },
      channel: { id: message.channel, name: 'approvals' },
      message: { type: 'message', ts: message.ts, text: message.text, blocks: message.blocks },
      state: { values: {} },
      response_url: 'https://hooks.slack.com/actions/T0/1/a',
      actions: [
        {
          type: 'button',
          action_id: actionId,
          block_id: 'b1',
          text: button.text,
          ...(button.value !== undefined && { value: button.value }),
          action_ts: `${this.world.now / 1_000}`,
        },
      ],
    });
  }

  /**
   * The body of the request that submitting a view sends.
   * @param filled what the person changed, by block: a text, the value of a chosen option, or the
   *   values of checked boxes
   */
  submit(view: Json, filled: Record<string, string | string[] | null>, userId = 'U0ADA'): string {
    const values = fillView(view, filled);
    return encodePayload({
      type: 'view_submission',
      ...this.acting(userId),
      trigger_id: this.trigger(),
      view: {
        id: 'V0VIEW',
        team_id: this.teamId,
        hash: '1.a',
        root_view_id: 'V0VIEW',
        ...view,
        state: { values },
      },
      response_urls: [],
    });
  }

  /** A trigger that opens one modal within 3 seconds. */
  trigger(): string {
    this.count += 1;
    const id = `${this.count}.2.a`;
    this.triggers.set(id, this.world.now + TRIGGER_LIFETIME);
    return id;
  }

  private acting(userId: string) {
    const { name, team_id } = this.people.get(userId) ?? { name: 'somebody', team_id: this.teamId };
    return {
      user: { id: userId, username: name, name, team_id },
      team: { id: this.teamId, domain: 'workspace' },
      api_app_id: 'A0APP',
      token: 'deprecated',
      enterprise: null,
      is_enterprise_install: false,
    };
  }

  private answer(url: string, headers: Headers, text: string): Response {
    const method = new URL(url).pathname.replace('/api/', '');
    const isForm = headers.get('Content-Type')?.startsWith('application/x-www-form-urlencoded');
    const body = isForm ? Object.fromEntries(new URLSearchParams(text)) : JSON.parse(text);
    const [failure] = this.failures.splice(0, 1);
    const answer = failure === undefined ? this.handle(method, headers, body) : refuse(failure);
    this.calls.push({ method, body, answer });
    if (failure === 'ratelimited') {
      return Response.json(answer, {
        status: 429,
        headers: { 'Retry-After': String(this.retryAfter) },
      });
    }
    return Response.json(answer);
  }

  private handle(method: string, headers: Headers, body: Json): Json {
    const authorization = headers.get('Authorization');
    if (authorization === null) return refuse('not_authed');
    if (authorization !== `Bearer ${this.token}`) return refuse('invalid_auth');
    const isJson = headers.get('Content-Type')?.startsWith('application/json') ?? false;
    // Slack ignores JSON where it reads.
    if (method === 'users.info') return this.describe(isJson ? {} : body);
    if (!isJson) return refuse('invalid_arguments');
    switch (method) {
      case 'chat.postMessage':
        return this.post(body);
      case 'chat.update':
        return this.update(body);
      case 'chat.postEphemeral':
        return this.postPrivately(body);
      case 'views.open':
        return this.open(body);
      case 'auth.test':
        return {
          ...{
            ok: true,
            team_id: this.teamId,
            team: 'Workspace',
            user_id: 'U0BOT',
            bot_id: 'B0BOT',
          },
          ...(this.organizationId !== null && { enterprise_id: this.organizationId }),
        };
      default:
        return refuse('unknown_method');
    }
  }

  private channelFault(channel: Json): string | null {
    if (this.archived.has(channel)) return 'is_archived';
    if (this.channels.has(channel) || this.people.has(channel)) return null;
    return this.otherChannels.has(channel) ? 'not_in_channel' : 'channel_not_found';
  }

  private post(body: Json): Json {
    const fault = this.channelFault(body.channel) ?? messageFault(body);
    if (fault) return fault.error ? fault : refuse(fault);
    this.count += 1;
    const ts = `${Math.floor(this.world.now / 1_000)}.${String(this.count).padStart(6, '0')}`;
    // A message to a person is in the app's conversation with them.
    const channel = this.people.has(body.channel) ? `D${body.channel.slice(1)}` : body.channel;
    this.channels.add(channel);
    const message = { channel, ts, text: body.text, blocks: body.blocks ?? [], updates: 0 };
    this.messages.push(message);
    return {
      ok: true,
      channel,
      ts,
      message: { type: 'message', user: 'U0BOT', text: body.text, blocks: message.blocks },
    };
  }

  private update(body: Json): Json {
    const fault = this.channelFault(body.channel) ?? messageFault(body);
    if (fault) return fault.error ? fault : refuse(fault);
    const message = this.messages.find(
      ({ channel, ts }) => channel === body.channel && ts === body.ts,
    );
    if (!message) return refuse('message_not_found');
    Object.assign(message, {
      text: body.text,
      blocks: body.blocks ?? [],
      updates: message.updates + 1,
    });
    return { ok: true, channel: message.channel, ts: message.ts, text: message.text };
  }

  private postPrivately(body: Json): Json {
    const fault = this.channelFault(body.channel) ?? messageFault(body);
    if (fault) return fault.error ? fault : refuse(fault);
    if (!this.people.has(body.user)) return refuse('user_not_in_channel');
    const { channel, user, text, blocks = [] } = body;
    this.privateMessages.push({ channel, user, text, blocks });
    return { ok: true, message_ts: '1.1' };
  }

  private open({ trigger_id: id, view }: Json): Json {
    const end = this.triggers.get(id);
    if (end === undefined) return refuse('invalid_trigger_id');
    if (end < this.world.now) return refuse('expired_trigger_id');
    const faults = viewFaults(view);
    if (faults.length > 0) return refuse('invalid_arguments', faults);
    this.triggers.delete(id);
    this.views.push(view);
    return { ok: true, view: { id: 'V0VIEW', ...view } };
  }

  private describe({ user }: Json): Json {
    const person = this.people.get(user);
    if (!person) return refuse('user_not_found');
    const { id, team_id, email, name } = person;
    return {
      ok: true,
      user: {
        id,
        team_id,
        name,
        deleted: false,
        is_bot: false,
        profile: { email, real_name: name },
      },
    };
  }
}

function refuse(error: string, messages: string[] = []): Json {
  return { ok: false, error, ...(messages.length > 0 && { response_metadata: { messages } }) };
}

/**
 * A payload as Slack sends it: a form, with JSON in which slashes and all but ASCII are escaped.
 */
export function encodePayload(payload: Json): string {
  const json = JSON.stringify(payload).replaceAll('/', '\\/');
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return new URLSearchParams({ payload: json.replace(/[\u0080-\uffff]/g, escaped) }).toString();
}

/** The state of a view's fields after a person changed some of them. */
export function fillView(view: Json, filled: Record<string, string | string[] | null>): Json {
  const inputs = view.blocks.filter(({ type }: Json) => type === 'input');
  for (const id of Object.keys(filled)) {
    if (!inputs.some(({ block_id }: Json) => block_id === id))
      throw new Error(`The view has no field ${id}`);
  }
  return Object.fromEntries(
    inputs.map(({ block_id, element }: Json) => [
      block_id,
      { [element.action_id]: stateOf(element, filled[block_id]) },
    ]),
  );
}

function stateOf(element: Json, filled: string | string[] | null | undefined): Json {
  const { type, options, initial_options, initial_value } = element;
  const pick = (value: string) => {
    const option = options.find((offered: Json) => offered.value === value);
    if (!option) throw new Error(`There is no option ${value}`);
    return option;
  };
  if (type === 'checkboxes') {
    return {
      type,
      selected_options: Array.isArray(filled) ? filled.map(pick) : (initial_options ?? []),
    };
  }
  if (type === 'radio_buttons')
    return { type, selected_option: typeof filled === 'string' ? pick(filled) : null };
  return { type, value: filled === undefined ? (initial_value ?? null) : filled };
}

const MAX_MESSAGE_TEXT = 40_000;

/** Why Slack refuses the text and blocks of a message; null if it accepts them. */
function messageFault({ text, blocks }: Json): Json {
  if (!text && !blocks) return refuse('no_text');
  if (sizeOf(text ?? '') > MAX_MESSAGE_TEXT) return refuse('msg_too_long');
  const faults = blockFaults(blocks ?? [], 50, ['header', 'section', 'context', 'actions']);
  return faults.length > 0 ? refuse('invalid_blocks', faults) : null;
}

/** What Slack's documented limits refuse in a view. */
export function viewFaults(view: Json): string[] {
  const blockTypes = ['header', 'section', 'context', 'actions', 'input'];
  const hasInput = view.blocks?.some(({ type }: Json) => type === 'input');
  return [
    ...(view.type === 'modal' ? [] : ['type must be modal']),
    ...['title', 'submit', 'close'].flatMap((name) => textFaults(view[name], 24, name)),
    ...(hasInput && !view.submit ? ['submit is required with inputs'] : []),
    ...(view.callback_id.length > 255 ? ['callback_id is too long'] : []),
    ...(view.private_metadata.length > 3_000 ? ['private_metadata is too long'] : []),
    ...(new TextEncoder().encode(JSON.stringify(view)).length > 250_000
      ? ['view is too large']
      : []),
    ...blockFaults(view.blocks, 100, blockTypes),
  ];
}

/** What Slack's documented limits refuse in the blocks of a message or view. */
function blockFaults(blocks: Json[], max: number, types: string[]): string[] {
  const ids = blocks.flatMap(({ block_id }) => block_id ?? []);
  return [
    ...(blocks.length > max ? [`more than ${max} blocks`] : []),
    ...(new Set(ids).size < ids.length ? ['a block_id is not unique'] : []),
    ...ids.filter((id) => id.length > 255).map(() => 'a block_id is too long'),
    ...blocks.flatMap((block, i) => {
      const at = `blocks/${i}`;
      return types.includes(block.type)
        ? oneBlockFaults(block, at)
        : [`${at}: no ${block.type} is allowed here`];
    }),
  ];
}

function oneBlockFaults(block: Json, at: string): string[] {
  switch (block.type) {
    case 'header':
      return [...unknownFaults(block, ['text'], at), ...textFaults(block.text, 150, at)];
    case 'section':
      return [
        ...unknownFaults(block, ['text', 'expand'], at),
        ...textFaults(block.text, 3_000, at, true),
      ];
    case 'context':
      return [
        ...unknownFaults(block, ['elements'], at),
        ...countFaults(block.elements, 10, at),
        ...block.elements.flatMap((text: Json) => textFaults(text, 3_000, at, true)),
      ];
    case 'actions':
      return [
        ...unknownFaults(block, ['elements'], at),
        ...countFaults(block.elements, 25, at),
        ...uniqueFaults(block.elements, 'action_id', at),
        ...block.elements.flatMap((button: Json) => buttonFaults(button, at)),
      ];
    default:
      return [
        ...unknownFaults(block, ['label', 'hint', 'optional', 'element', 'dispatch_action'], at),
        ...textFaults(block.label, 2_000, `${at}/label`),
        ...(block.hint ? textFaults(block.hint, 2_000, `${at}/hint`) : []),
        ...elementFaults(block.element, `${at}/element`),
      ];
  }
}

function buttonFaults(button: Json, at: string): string[] {
  return [
    ...(button.type === 'button' ? [] : [`${at}: no button`]),
    ...textFaults(button.text, 75, at),
    ...((button.action_id?.length ?? 0) > 255 ? [`${at}: action_id is too long`] : []),
    ...((button.value?.length ?? 0) > 2_000 ? [`${at}: value is too long`] : []),
    ...((button.url?.length ?? 0) > 3_000 ? [`${at}: url is too long`] : []),
    ...(button.url !== undefined && !URL.canParse(button.url) ? [`${at}: url is invalid`] : []),
  ];
}

function elementFaults(element: Json, at: string): string[] {
  const known = ['type', 'action_id'];
  switch (element.type) {
    case 'number_input': {
      const { initial_value, min_value, max_value, is_decimal_allowed } = element;
      const names = ['is_decimal_allowed', 'initial_value', 'min_value', 'max_value'];
      const pattern = is_decimal_allowed ? /^-?\d+(\.\d+)?$/ : /^-?\d+$/;
      return [
        ...unknownFaults(element, [...known, ...names], at),
        ...(typeof is_decimal_allowed === 'boolean'
          ? []
          : [`${at}: is_decimal_allowed is required`]),
        ...[initial_value, min_value, max_value]
          .filter(
            (value) => value !== undefined && !(typeof value === 'string' && pattern.test(value)),
          )
          .map((value) => `${at}: ${value} is not the text of a number`),
        ...(Number(min_value) > Number(max_value) ? [`${at}: min_value is above max_value`] : []),
        ...(Number(initial_value) > Number(max_value)
          ? [`${at}: initial_value is above max_value`]
          : []),
        ...(Number(initial_value) < Number(min_value)
          ? [`${at}: initial_value is below min_value`]
          : []),
      ];
    }
    case 'checkboxes':
      return [
        ...unknownFaults(element, [...known, 'options', 'initial_options'], at),
        ...optionFaults(element.options, at),
        ...(element.initial_options ?? [])
          .filter(
            (initial: Json) =>
              !element.options.some((o: Json) => JSON.stringify(o) === JSON.stringify(initial)),
          )
          .map(() => `${at}: an initial option is not among the options`),
      ];
    case 'radio_buttons':
      return [
        ...unknownFaults(element, [...known, 'options'], at),
        ...optionFaults(element.options, at),
      ];
    case 'plain_text_input':
      return [
        ...unknownFaults(element, [...known, 'multiline', 'max_length', 'initial_value'], at),
        ...(element.max_length > 3_000 ? [`${at}: max_length is above 3000`] : []),
      ];
    default:
      return [`${at}: unknown element ${element.type}`];
  }
}

function optionFaults(options: Json[], at: string): string[] {
  return [
    ...countFaults(options, 10, at),
    ...uniqueFaults(options, 'value', at),
    ...options.flatMap(({ text, value }) => [
      ...textFaults(text, 75, at, true),
      ...(typeof value === 'string' && value.length <= 150
        ? []
        : [`${at}: the value of an option is invalid`]),
    ]),
  ];
}

function countFaults(list: Json[], max: number, at: string): string[] {
  return list.length >= 1 && list.length <= max ? [] : [`${at}: must have 1 to ${max} items`];
}

function uniqueFaults(list: Json[], name: string, at: string): string[] {
  return new Set(list.map((item) => item[name])).size === list.length
    ? []
    : [`${at}: ${name} is not unique`];
}

function unknownFaults(object: Json, names: string[], at: string): string[] {
  const unknown = Object.keys(object).filter(
    (name) => !['type', 'block_id', ...names].includes(name),
  );
  return unknown.map((name) => `${at}: invalid additional property: ${name}`);
}

function textFaults(text: Json, max: number, at: string, allowsMarkup = false): string[] {
  if (text?.type !== 'plain_text' && !(allowsMarkup && text?.type === 'mrkdwn'))
    return [`${at}: no text object`];
  const size = sizeOf(text.text);
  return [
    ...(text.text.trim() === '' ? [`${at}: must be more than 0 characters`] : []),
    ...(size > max ? [`${at}: must be less than ${max + 1} characters`] : []),
    ...unknownFaults(
      text,
      text.type === 'plain_text' ? ['text', 'emoji'] : ['text', 'verbatim'],
      at,
    ),
  ];
}

/** The length of a text with its control characters escaped, the most that Slack may count. */
function sizeOf(text: string): number {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').length;
}

/** Every text that Slack parses for markup and mentions, in a message or view. */
export function markupIn(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(markupIn);
  if (typeof value !== 'object' || value === null) return [];
  if (value.type === 'mrkdwn') return [value.text];
  return Object.values(value).flatMap(markupIn);
}

/** Every text object of a message or view that Slack shows as it is. */
export function plainTextsIn(value: Json): { text: string; emoji?: boolean }[] {
  if (Array.isArray(value)) return value.flatMap(plainTextsIn);
  if (typeof value !== 'object' || value === null) return [];
  return value.type === 'plain_text' ? [value] : Object.values(value).flatMap(plainTextsIn);
}
