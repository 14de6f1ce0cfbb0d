import { Keyring } from '../../../src/lib/secrets';
import { idBytes, parseId, withPrefix } from '../../../src/lib/typeid';
import { signLinkAddress } from '../../../src/receivers/channels/slack/link-address';
import type { TestMember } from '../../support/members';
import { FakeSlack, type KeptMessage } from '../../support/slack';
import { type Json, type TestAccount, type TestAgent, World } from '../../support/world';

export interface SlackScene {
  world: World;
  slack: FakeSlack;
  account: TestAccount;
  agent: TestAgent;
  channel: Json;
  path: string;
}

/** An account with a channel for Slack, and an agent that nobody owns. */
export async function makeSlackScene(fields: Json = {}, world = new World()): Promise<SlackScene> {
  const slack = new FakeSlack(world);
  const account = await world.account();
  const agent = await account.agent({ name: 'Payer' });
  const body = {
    kind: 'slack',
    name: 'Approvals',
    ...fields,
    config: { ...slack.config, ...fields.config },
  };
  const { body: channel } = await account.must(201, 'POST', '/v1/channels', body);
  return { world, slack, account, agent, channel, path: `/v1/channels/${channel.id}` };
}

/** Requests a permission, and returns it with the message about it. */
export async function requestInSlack({ world, slack, agent }: SlackScene, fields: Json = {}) {
  const permission = await agent.request(fields);
  await world.deliver();
  const message = slack.messages.at(-1);
  if (!message) throw new Error('nothing was posted');
  return { permission, message };
}

/** All texts of a message or view, in order. */
export function textsOf(value: Json): string {
  if (Array.isArray(value)) return value.map(textsOf).join('\n');
  if (typeof value !== 'object' || value === null) return '';
  if (typeof value.text === 'string' && value.type) return value.text;
  return Object.values(value).map(textsOf).join('\n');
}

/** The ids of the actions of a message. */
export function buttonsOf(message: KeptMessage): string[] {
  return message.blocks.flatMap(({ type, elements }) =>
    type === 'actions' ? elements.map(({ action_id }: Json) => action_id) : [],
  );
}

/** Sends a body to the address of the channel, signed by Slack unless other headers are given. */
export async function sendFromSlack(
  { world, slack, channel }: Pick<SlackScene, 'world' | 'slack' | 'channel'>,
  body: string,
  headers?: Record<string, string>,
) {
  const path = channel.inbound_url.replace('https://countersign.test', '');
  return world.call('POST', path, { raw: body, headers: headers ?? (await slack.sign(body)) });
}

/** Presses the button of a message, and returns the modal that opens; undefined if none does. */
export async function openModal(
  scene: SlackScene,
  message: KeptMessage,
  userId?: string,
): Promise<Json> {
  const before = scene.slack.views.length;
  const { status, body } = await sendFromSlack(
    scene,
    scene.slack.click(message, 'review_permission', userId),
  );
  if (status !== 200 || Object.keys(body).length > 0)
    throw new Error(`the click was answered ${status}`);
  return scene.slack.views[before];
}

/** Submits a modal, and returns what is wrong with it; null if nothing is. */
export async function submitModal(
  scene: SlackScene,
  view: Json,
  filled: Json,
  userId?: string,
): Promise<Json> {
  const { status, body } = await sendFromSlack(scene, scene.slack.submit(view, filled, userId));
  if (status !== 200) throw new Error(`the submission was answered ${status}`);
  if (body.response_action === 'errors') return body.errors;
  if (body.response_action !== 'clear')
    throw new Error(`unexpected answer ${JSON.stringify(body)}`);
  return null;
}

/** The path of the page that links a Slack user, as Slack shows it to the user. */
export async function linkPath(
  { world, channel }: SlackScene,
  userId = 'U0ADA',
  teamId = 'T0WORKSPACE',
): Promise<string> {
  const keyring = Keyring.parse(world.env.ROOT_SECRET ?? '');
  if (!keyring) throw new Error('there is no root secret');
  const id = parseId('chan', channel.id);
  if (!id) throw new Error('the channel has no id');
  const row = await world.env.DB.prepare('select secret from receivers where id = ?')
    .bind(idBytes(id))
    .first<Json>();
  const linked = { id: withPrefix('webhook', id), secret: Uint8Array.from(row.secret) };
  return signLinkAddress({ keyring, publicUrl: '' }, world.runtime, linked, { id: userId, teamId });
}

/** Links a Slack user to a member, who just signed in and has the same e-mail address. */
export async function linkInSlack(
  scene: SlackScene,
  member: TestMember,
  userId?: string,
): Promise<void> {
  const { status, text } = await member.browser.submit(await linkPath(scene, userId), {
    decision: 'confirm',
  });
  if (status !== 303) throw new Error(`the link was answered ${status}: ${text}`);
}
