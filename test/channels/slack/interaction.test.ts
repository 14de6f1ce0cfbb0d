import { expect, it } from 'vitest';
import { readInteraction } from '../../../src/receivers/channels/slack/interaction';
import {
  DECIDE_ACTION,
  OPEN_ACTION,
  permissionMessage,
} from '../../../src/receivers/channels/slack/message';
import { decisionModal } from '../../../src/receivers/channels/slack/modal';
import { encodePayload, FakeSlack } from '../../support/slack';
import { World } from '../../support/world';
import { CARD, messageWith, permissionWith } from './samples';

const USER = { id: 'U0ADA', teamId: 'T0WORKSPACE' };

function makeScene() {
  const slack = new FakeSlack(new World());
  const message = {
    channel: 'C0APPROVALS',
    ts: '1503435956.000247',
    ...permissionMessage(messageWith({ title: 'a & b = c + d% "ü"' }), { canDecide: true }),
    updates: 0,
  };
  const view = decisionModal({
    permission: permissionWith(),
    preview: null,
    input: null,
    proposal: { scope: { amount: 5 }, token_ttl: 900, max_uses: 1 },
    agentName: 'Mailer',
    cardUrl: CARD,
    votes: 2,
  });
  return { slack, message, view };
}

/** A payload with some of its parts replaced. */
function change(body: string, changes: object): string {
  return encodePayload({
    ...JSON.parse(new URLSearchParams(body).get('payload') ?? ''),
    ...changes,
  });
}

/** A submission of a modal with other metadata. */
function withMetadata(body: string, metadata: string): string {
  const { view } = JSON.parse(new URLSearchParams(body).get('payload') ?? '');
  return change(body, { view: { ...view, private_metadata: metadata } });
}

it('reads the click on the button of a message', () => {
  const { slack, message } = makeScene();
  expect(readInteraction(slack.click(message, DECIDE_ACTION))).toEqual({
    kind: 'click',
    user: USER,
    permissionId: 'perm_01m7x1m1tre75vaz5yvpbmvt6m',
    triggerId: '1.2.a',
    slackChannel: 'C0APPROVALS',
  });
});

it('reads the submission of the modal', () => {
  const { slack, view } = makeScene();
  expect(readInteraction(slack.submit(view, { reason: 'a & b = ü', decision: 'deny' }))).toEqual({
    kind: 'submission',
    user: USER,
    permissionId: 'perm_01m7x1m1tre75vaz5yvpbmvt6m',
    votes: 2,
    values: {
      'limit-0': { value: { value: '5' } },
      token_ttl: { value: { value: '900' } },
      max_uses: { value: { value: '1' } },
      reason: { value: { value: 'a & b = ü' } },
      decision: { value: { selected_option: { value: 'deny' } } },
    },
  });
});

it.each(['U', 'W'.repeat(31)])('reads the id of a user in any length: %s', (id) => {
  const { slack, message } = makeScene();
  const click = change(slack.click(message, DECIDE_ACTION), { user: { id, team_id: 'T' } });
  expect(readInteraction(click)?.user).toEqual({ id, teamId: 'T' });
});

it('knows the workspace from the user, else from the team', () => {
  const { slack, message } = makeScene();
  const click = slack.click(message, DECIDE_ACTION);
  const userOf = (changes: object) => readInteraction(change(click, changes))?.user;
  expect(userOf({ team: null })).toEqual(USER);
  expect(userOf({ user: { id: 'W0ADA' } })).toEqual({ id: 'W0ADA', teamId: 'T0WORKSPACE' });
  expect(userOf({ user: { id: 'U0ADA' }, team: null })).toBeUndefined();
  expect(userOf({ user: { id: 'U0ADA', team_id: 'T0GUEST' } })).toEqual({
    id: 'U0ADA',
    teamId: 'T0GUEST',
  });
  expect(userOf({ user: { id: 'U0ADA', team_id: null } })).toEqual(USER);
});

it('knows the workspace from the team if the user has an organization instead', () => {
  const { slack, message, view } = makeScene();
  const user = { id: 'U0ADA', team_id: 'E0ORGANIZATION' };
  for (const body of [
    slack.click(message, DECIDE_ACTION),
    slack.submit(view, { decision: 'deny' }),
  ]) {
    expect(readInteraction(change(body, { user }))?.user).toEqual(USER);
    expect(readInteraction(change(body, { user, team: null }))?.user).toEqual({
      id: 'U0ADA',
      teamId: user.team_id,
    });
  }
});

it.each<[string, object]>([
  ['the channel', { container: { type: 'message', is_ephemeral: false } }],
  ['the channel, without a container', { container: undefined }],
  ['the container', { channel: undefined }],
  ['the container, before the channel', { channel: { id: 'C0OTHER' } }],
])('knows the Slack channel from %s', (_, changes) => {
  const { slack, message } = makeScene();
  expect(readInteraction(change(slack.click(message, DECIDE_ACTION), changes))).toMatchObject({
    slackChannel: 'C0APPROVALS',
  });
});

it('reads the first action, whatever the others are', () => {
  const { slack, message } = makeScene();
  const actions = [
    { action_id: DECIDE_ACTION, value: permissionWith().id },
    { type: 'overflow' },
    null,
  ];
  expect(readInteraction(change(slack.click(message, DECIDE_ACTION), { actions }))?.kind).toBe(
    'click',
  );
});

it('ignores the click on a link, which Slack reports too', () => {
  const { slack, message } = makeScene();
  expect(readInteraction(slack.click(message, OPEN_ACTION))).toBeNull();
});

it.each<[string, (click: string, submission: string) => string]>([
  ['another kind', (click) => change(click, { type: 'shortcut' })],
  [
    'another button',
    (click) => change(click, { actions: [{ action_id: 'other', value: permissionWith().id }] }),
  ],
  [
    'a button without a value',
    (click) => change(click, { actions: [{ action_id: DECIDE_ACTION }] }),
  ],
  [
    'no permission',
    (click) => change(click, { actions: [{ action_id: DECIDE_ACTION, value: 'perm_1' }] }),
  ],
  ['no action', (click) => change(click, { actions: [] })],
  [
    'a click in a view',
    (click) =>
      change(click, { container: { type: 'view', view_id: 'V0VIEW' }, channel: undefined }),
  ],
  ['no trigger', (click) => change(click, { trigger_id: '' })],
  [
    'a user with a strange id',
    (click) => change(click, { user: { id: '../x', team_id: 'T0WORKSPACE' } }),
  ],
  [
    'another modal',
    (_, submission) =>
      change(submission, {
        view: { callback_id: 'x', private_metadata: '', state: { values: {} } },
      }),
  ],
  [
    'a modal without a state',
    (_, submission) =>
      change(submission, { view: { callback_id: 'review_permission', private_metadata: '' } }),
  ],
  ...[
    '',
    'null',
    '{}',
    '{"permission":"perm_1","votes":0}',
    `{"permission":"${permissionWith().id}"}`,
  ].map((metadata): [string, (click: string, submission: string) => string] => [
    `a modal that the service did not make: ${metadata}`,
    (_, submission) => withMetadata(submission, metadata),
  ]),
  ['a closed modal', (_, submission) => change(submission, { type: 'view_closed' })],
  ['no payload', () => 'a=b'],
  ['an empty body', () => ''],
  ['no JSON', () => 'payload=%7B'],
  ['null', () => 'payload=null'],
  ['a list', () => 'payload=%5B%5D'],
  ['JSON without a form', () => '{"type":"url_verification","challenge":"x"}'],
])('ignores %s', (_, bodyOf) => {
  const { slack, message, view } = makeScene();
  const body = bodyOf(
    slack.click(message, DECIDE_ACTION),
    slack.submit(view, { decision: 'deny' }),
  );
  expect(readInteraction(body)).toBeNull();
});
