import { expect, it, vi } from 'vitest';
import { type Env, type MailTransport, readConfig, readMailTransport } from '../../../src/env';
import { composePermissionMail } from '../../../src/receivers/channels/email/compose';
import { prepareMail } from '../../../src/receivers/channels/email/transport';
import { World } from '../../support/world';
import { message, NOW, TO } from './samples';

const MAIL = composePermissionMail(message({ title: 'Grüße 😀 <b>' }), TO, NOW);
const FROM = 'Countersign <approvals@example.com>';
const RESEND: MailTransport = { kind: 'resend', apiKey: 're_123', from: FROM };

/** A binding that records what is sent by it, or fails. */
function fakeBinding(failure?: unknown) {
  const send = vi.fn(async () => {
    if (failure !== undefined) throw failure;
    return { messageId: '<1@example.com>' };
  });
  return { send, binding: { send } as unknown as SendEmail };
}

it('Resend gets one JSON request with the key that makes it idempotent', () => {
  const prepared = prepareMail(RESEND, MAIL, 'delivery_1/member_2');
  if (prepared.kind !== 'requests') throw new Error('It is not a request');
  const [{ body, ...others } = { body: '' }] = prepared.requests;
  expect(prepared.requests).toHaveLength(1);
  expect(others).toEqual({
    url: 'https://api.resend.com/emails',
    headers: {
      Authorization: 'Bearer re_123',
      'Content-Type': 'application/json',
      'Idempotency-Key': 'delivery_1/member_2',
      'User-Agent': 'Countersign-Mail/1.0',
    },
    judge: expect.any(Function),
  });
  const { subject, text, html } = MAIL;
  expect(JSON.parse(`${body}`)).toEqual({
    from: FROM,
    to: ['Ada Lovelace <ada@example.com>'],
    subject,
    text,
    html,
  });
  expect(prepareMail(RESEND, MAIL, 'delivery_1/member_2')).toMatchObject({ requests: [{ body }] });
});

it('a recipient without a name is only an address', () => {
  const prepared = prepareMail(
    RESEND,
    { ...MAIL, to: { address: 'ada@example.com', name: null } },
    'key',
  );
  expect(prepared).toMatchObject({
    requests: [{ body: expect.stringContaining('"to":["ada@example.com"]') }],
  });
});

it.each([
  '',
  'ada',
  'a@example.com, b@example.com',
  'a@example.com>, <b@example.com',
  'Ada <a@example.com>',
  'a@b.c\r\nBcc: x',
])('sends nothing to the address %j', (address) => {
  const refused = { kind: 'refused', error: 'The address of the recipient is not valid.' };
  const mail = { ...MAIL, to: { address, name: null } };
  expect(prepareMail(RESEND, mail, 'key')).toEqual(refused);
  const { binding } = fakeBinding();
  expect(prepareMail({ kind: 'binding', binding, from: FROM }, mail, 'key')).toEqual(refused);
});

it.each(['', 'a b', 'x\r\nX-Other: 1', 'k'.repeat(257), 'clé'])(
  'refuses the idempotency key %j',
  (key) => {
    expect(() => prepareMail(RESEND, MAIL, key)).toThrow('idempotency key');
  },
);

it('the binding gets fields, and writes the message itself', async () => {
  const { send, binding } = fakeBinding();
  const prepared = prepareMail({ kind: 'binding', binding, from: FROM }, MAIL, 'key');
  if (prepared.kind !== 'call') throw new Error('It is not a call');
  expect(send).not.toHaveBeenCalled();
  await prepared.call();
  const { subject, text, html } = MAIL;
  expect(send.mock.calls).toEqual([
    [
      {
        from: { name: 'Countersign', email: 'approvals@example.com' },
        to: { name: 'Ada Lovelace', email: 'ada@example.com' },
        subject,
        text,
        html,
      },
    ],
  ]);
});

it('a bare sender address is passed to the binding as it is', async () => {
  const { send, binding } = fakeBinding();
  const mail = { ...MAIL, to: { address: 'ada@example.com', name: null } };
  const prepared = prepareMail(
    { kind: 'binding', binding, from: 'approvals@example.com' },
    mail,
    'key',
  );
  if (prepared.kind === 'call') await prepared.call();
  expect(send.mock.calls[0]).toMatchObject([
    { from: 'approvals@example.com', to: 'ada@example.com' },
  ]);
});

it.each([
  [{ code: 'E_RATE_LIMIT_EXCEEDED' }, 'The rate limit of the mail service is reached.'],
  [{ code: 'E_HEADERS_TOO_MANY' }, 'The mail service failed with E_HEADERS_TOO_MANY.'],
  [{ code: 'ada@example.com' }, 'The mail service failed.'],
  [{}, 'The mail service failed.'],
])('a failure of the binding with %j is told without its message', async (fields, words) => {
  const failure = Object.assign(new Error('cannot send to ada@example.com'), fields);
  const prepared = prepareMail(
    { kind: 'binding', binding: fakeBinding(failure).binding, from: FROM },
    MAIL,
    'key',
  );
  if (prepared.kind !== 'call') throw new Error('It is not a call');
  await expect(prepared.call()).rejects.toThrow(new Error(words));
});

/** The faults of some settings of mail. */
function faultsOf(settings: Partial<Env>): string[] {
  const faults: string[] = [];
  expect(readMailTransport(settings as Env, faults)).toBeUndefined();
  return faults;
}

it('without settings no mail is sent, and with complete ones it is', () => {
  const { binding } = fakeBinding();
  const read = (settings: Partial<Env>) => {
    const faults: string[] = [];
    return [readMailTransport(settings as Env, faults), faults];
  };
  expect(read({})).toEqual([null, []]);
  expect(read({ RESEND_API_KEY: '', EMAIL_FROM: '' })).toEqual([null, []]);
  expect(read({ RESEND_API_KEY: 're_123', EMAIL_FROM: FROM })).toEqual([RESEND, []]);
  const byBinding = { kind: 'binding', binding, from: 'approvals@example.com' };
  expect(read({ EMAIL: binding, EMAIL_FROM: 'approvals@example.com' })).toEqual([byBinding, []]);
});

it('settings that are incomplete or contradict each other are faults', () => {
  const { binding } = fakeBinding();
  expect(faultsOf({ EMAIL: binding })).toEqual([
    'the variable EMAIL_FROM is not set, but the binding EMAIL or the secret RESEND_API_KEY is',
  ]);
  expect(faultsOf({ EMAIL_FROM: FROM })).toEqual([
    'the variable EMAIL_FROM is set, but neither the binding EMAIL nor the secret RESEND_API_KEY is',
  ]);
  expect(faultsOf({ EMAIL: binding, RESEND_API_KEY: 're_123', EMAIL_FROM: FROM })).toEqual([
    'both the binding EMAIL and the secret RESEND_API_KEY are set: only one can send',
  ]);
  expect(faultsOf({ RESEND_API_KEY: 're_123\n', EMAIL_FROM: FROM })).toEqual([
    'the secret RESEND_API_KEY has spaces or characters that no key has',
  ]);
});

it.each([
  'Countersign',
  'approvals@',
  '@example.com',
  'approvals@localhost',
  'a b@example.com',
  'Countersign approvals@example.com',
  'Countersign <approvals@example.com',
  'Countersign <approvals@example.com> x',
  'A, B <approvals@example.com>',
  'Evil\r\nBcc: x <approvals@example.com>',
  'a@example.com, b@example.com',
  `${'a'.repeat(250)}@example.com`,
])('the sender %j is a fault', (from) => {
  expect(faultsOf({ RESEND_API_KEY: 're_123', EMAIL_FROM: from })).toEqual([
    'the variable EMAIL_FROM is not of the form "name@example.com" or "Name <name@example.com>"',
  ]);
});

it('the configuration has the transport, or the fault', () => {
  const world = new World({ RESEND_API_KEY: 're_123', EMAIL_FROM: FROM });
  expect(readConfig(world.env)).toMatchObject({ config: { mail: RESEND } });
  expect(readConfig(new World().env)).toMatchObject({ config: { mail: null } });
  expect(readConfig(new World({ EMAIL_FROM: 'x' }).env)).toEqual({
    faults: [expect.stringContaining('EMAIL_FROM')],
  });
});
