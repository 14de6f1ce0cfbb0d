import { expect, it } from 'vitest';
import { SlackConfig } from '../../../src/receivers/channels/slack/config';
import { FakeSlack } from '../../support/slack';
import { World } from '../../support/world';

const CONFIG = {
  bot_token: 'xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcBrzbqgy',
  signing_secret: '8f742231b10e8888abcd99yyyzzz85a5',
  channels: [
    { id: 'C024BE91L' },
    {
      id: 'G024BE91L',
      filter: { actions: ['email.*'], agent_ids: ['agent_01m7x1m1tre75vaz5yvpbmvt6m'] },
    },
    { id: 'D024BE91L', filter: {} },
    { id: 'C024BE91M', filter: { actions: null, agent_ids: null } },
    { id: 'C024BE91N', filter: null },
  ],
};

it('accepts a Slack app and its channels', () => {
  expect(SlackConfig().parse(CONFIG)).toEqual(CONFIG);
  const { config } = new FakeSlack(new World());
  expect(SlackConfig().parse(config)).toEqual(config);
});

it.each<[string, object]>([
  ['short secrets', { bot_token: 'xoxb-1', signing_secret: 'x' }],
  ['secrets of any visible ASCII', { bot_token: 'xoxb-a_b.c~!', signing_secret: '8f74-22_31.+/=' }],
  [
    'secrets of 255 characters',
    { bot_token: `xoxb-${'1'.repeat(250)}`, signing_secret: 'a'.repeat(255) },
  ],
  ['ids of 1 and of 31 characters', { channels: [{ id: 'C' }, { id: 'W'.repeat(31) }] }],
])('accepts %s', (_, fields) => {
  expect(SlackConfig().parse({ ...CONFIG, ...fields })).toEqual({ ...CONFIG, ...fields });
});

it('accepts 20 channels', () => {
  const channels = Array.from({ length: 20 }, (_, i) => ({ id: `C024BE9${i + 10}` }));
  expect(SlackConfig().safeParse({ ...CONFIG, channels }).success).toBe(true);
});

it.each<[string, object, string]>([
  ['a user token', { bot_token: CONFIG.bot_token.replace('xoxb', 'xoxp') }, 'bot_token'],
  ['a token with a line feed', { bot_token: `${CONFIG.bot_token}\n` }, 'bot_token'],
  ['a token with a space', { bot_token: `${CONFIG.bot_token} ` }, 'bot_token'],
  ['a token that is not ASCII', { bot_token: `${CONFIG.bot_token}ü` }, 'bot_token'],
  ['a token that is too long', { bot_token: `xoxb-${'1'.repeat(251)}` }, 'bot_token'],
  ['nothing after the prefix', { bot_token: 'xoxb-' }, 'bot_token'],
  ['no token', { bot_token: undefined }, 'bot_token'],
  ['an empty signing secret', { signing_secret: '' }, 'signing_secret'],
  ['a signing secret that is too long', { signing_secret: 'a'.repeat(256) }, 'signing_secret'],
  [
    'a signing secret with a space',
    { signing_secret: `${CONFIG.signing_secret} ` },
    'signing_secret',
  ],
  ['no channel', { channels: [] }, 'channels'],
  [
    '21 channels',
    { channels: Array.from({ length: 21 }, (_, i) => ({ id: `C024BE9${i + 10}` })) },
    'channels',
  ],
  [
    'a channel twice',
    { channels: [{ id: 'C024BE91L' }, { id: 'C024BE91L', filter: {} }] },
    'channels',
  ],
  ['the name of a channel', { channels: [{ id: '#general' }] }, 'channels.0.id'],
  ['an id in small letters', { channels: [{ id: 'c024be91l' }] }, 'channels.0.id'],
  ['an id that begins with a digit', { channels: [{ id: '024BE91L' }] }, 'channels.0.id'],
  ['an id that is too long', { channels: [{ id: 'C'.repeat(32) }] }, 'channels.0.id'],
  [
    'an empty filter of actions',
    { channels: [{ id: 'C024BE91L', filter: { actions: [] } }] },
    'channels.0.filter.actions',
  ],
  [
    'an invalid agent',
    { channels: [{ id: 'C024BE91L', filter: { agent_ids: ['a'] } }] },
    'channels.0.filter.agent_ids.0',
  ],
  [
    'an unknown filter',
    { channels: [{ id: 'C024BE91L', filter: { resources: ['*'] } }] },
    'channels.0.filter',
  ],
  ['an unknown field', { app_id: 'A0' }, ''],
])('refuses %s', (_, fields, path) => {
  const { error } = SlackConfig().safeParse({ ...CONFIG, ...fields });
  expect(error?.issues.map((issue) => issue.path.join('.'))).toEqual([path]);
});
