import { env } from 'cloudflare:test';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../src/lib/network';
import { answers } from '../support/internet';
import { listDeliveries, makeWebhook, readDelivery } from '../support/webhooks';
import { type TestAccount, World } from '../support/world';

const REFUSED = [
  // This machine and private networks, in every spelling of their addresses.
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '017700000001',
    '127.0.0.1.',
  ],
  ...[
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '2852039166',
    '0xA9FEA9FE',
    '0251.0376.0251.0376',
  ],
  ...[
    '0',
    '0.0.0.0',
    '255.255.255.255',
    '１２７.０.０.１',
    '127。0。0。1',
    '%31%32%37.0.0.1',
    '①②⑦.0.0.1',
    '127.0x0.0.1',
  ],
  ...[
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[fe80::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
  ],
  ...[
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[0:0:0:0:0:ffff:a9fe:a9fe]',
    '[::1]:443',
    '[::FFFF:10.0.0.1]',
  ],
  // Public addresses: only host names are accepted.
  ...[
    '8.8.8.8',
    '1.1.1.1',
    '134744072',
    '0x08080808',
    '8.8.8.8.',
    '[2606:4700::1111]',
    '1.1.1.1:443',
  ],
  // Names of this machine, of private networks and of no network.
  ...[
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
    'a.LocalHost.',
    'localhost:8443',
    'localhost.localdomain',
  ],
  ...[
    'intranet',
    'router',
    'x',
    'x.',
    'metadata.google.internal',
    'metadata.google.internal.',
    'db.INTERNAL',
  ],
  ...[
    'printer.local',
    'printer.LOCAL.',
    'a.test',
    'a.example',
    'a.invalid',
    'a.onion',
    'a.alt',
    'a.home.arpa',
  ],
  ...[
    '1.0.0.127.in-addr.arpa',
    'a.lan',
    'a.home',
    'a.corp',
    'a.intranet',
    'a.private',
    'loc%61lhost',
    'ⓛocalhost',
    'ａ.local',
  ],
  // Malformed host names.
  ...[
    '',
    '.',
    '..',
    'a..com',
    '.example.com',
    'example.com..',
    '-a.example.com',
    'a-.example.com',
    `${'a'.repeat(64)}.com`,
  ],
  ...[
    `${'a.'.repeat(127)}com`,
    'exa mple.com',
    'exa<mple.com',
    'a,b.com',
    '*.example.com',
    'a!.com',
    'a%00.com',
  ],
  // Ports.
  ...[
    'example.com:0',
    'example.com:65536',
    'example.com:-1',
    'example.com:x',
    'example.com:443:443',
  ],
  // Credentials.
  ...[
    'user@example.com',
    'user:password@example.com',
    ':@example.com',
    '@example.com',
    'a%40b@example.com',
  ],
  ...[
    'example.com@127.0.0.1',
    '127.0.0.1@example.com',
    'example.com:443@localhost',
    'user:@example.com:8443',
  ],
].map((host) => `https://${host}/hook`);

const REFUSED_TEXTS = [
  ...[
    'http://example.com/',
    'HTTP://example.com/',
    'ftp://example.com/',
    'ws://example.com/',
    'wss://example.com/',
  ],
  ...[
    'file:///etc/passwd',
    'data:text/plain,x',
    'javascript:alert(1)',
    'blob:https://example.com/x',
    'urn:a:b',
  ],
  ...[
    'example.com',
    '//example.com/',
    '/hook',
    '?',
    '#',
    'https:',
    'https://',
    'https:///',
    'https://?a',
    'https://#a',
  ],
  ...[
    'https:\\\\example.com\\',
    'https:/\\localhost/',
    'https://example.com\\@localhost/',
    'https://example.com/a\\b',
  ],
  ...[
    'https://exam\nple.com/',
    'https://exam\tple.com/',
    'ht\ntps://example.com/',
    ' https://example.com/',
    'https://example.com/ ',
  ],
  ...[
    'https://example.com/a b',
    'https://example.com/\u0000',
    'https://example.com/\u200b',
    'https://exa\u00admple.com/',
  ],
  ...[
    'https://\u202eexample.com/',
    'https://example.com/\u007f',
    `https://example.com/${'x'.repeat(2_029)}`,
  ],
];

const TAKEN = [
  ...[
    'https://example.com',
    'https://EXAMPLE.com/Hook?a=b&c=d#e',
    'https://example.com:8443/',
    'https://example.com./',
  ],
  ...[
    'https://a.b.c.d.example.co.uk/',
    'https://hooks_1.example.com/',
    'https://xn--bcher-kva.example.com/',
  ],
  ...[
    'https://bücher.example.com/',
    'https://例え.jp/',
    'HTTPS://example.com/',
    'https://example.com/a@b',
    'https://1.2.3.4.com/',
  ],
  ...[
    'https://example.com/%2e%2e/x',
    'https://internal.example.com/',
    'https://localhost.example.com/',
    'https://a1.io/',
  ],
  ...[
    'https://127.0.0.1.example.com/',
    'https://example.com/?u=http://127.0.0.1/',
    `https://${'a'.repeat(63)}.com/`,
  ],
];

async function register(account: TestAccount, url: string) {
  return account.call('POST', '/v1/webhooks', { url });
}

it.each([...REFUSED, ...REFUSED_TEXTS])('%j is refused', async (url) => {
  const account = await new World().account();
  const { status, body } = await register(account, url);
  expect([status, body.errors?.map(({ path }: { path: string }) => path)]).toEqual([
    400,
    ['body.url'],
  ]);
});

it.each(TAKEN)('%j is accepted', async (url) => {
  const account = await new World().account();
  const { status, body } = await register(account, url);
  expect([status, body.url]).toEqual([201, url]);
});

it('the deployment sends only to the public internet', () => {
  expect(parse(env.WRANGLER).compatibility_flags).toContain('global_fetch_strictly_public');
});

it('an update checks the new URL', async () => {
  const account = await new World().account();
  const webhook = await makeWebhook(account);
  for (const url of ['https://127.1/', 'http://example.com/', 'https://localhost/']) {
    await account.must(400, 'PUT', `/v1/webhooks/${webhook.id}`, { url });
  }
});

it('WEBHOOK_ALLOW_INSECURE allows http and this machine, but no other private address', async () => {
  const world = new World({ WEBHOOK_ALLOW_INSECURE: 'on' });
  const account = await world.account();
  const local = [
    'http://127.0.0.1:9000/',
    'http://localhost:9000/',
    'http://[::1]:9000/',
    'https://a.localhost/',
    'http://127.1/',
  ];
  for (const url of [...local, 'http://example.com/'])
    expect([url, (await register(account, url)).status]).toEqual([url, 201]);
  const refused = [
    'http://10.0.0.1/',
    'http://[fe80::1]/',
    'http://intranet/',
    'http://a.local/',
    'http://0.0.0.0/',
    'ftp://localhost/',
  ];
  for (const url of refused)
    expect([url, (await register(account, url)).status]).toEqual([url, 400]);
  for (const WEBHOOK_ALLOW_INSECURE of ['off', 'true', 'ON', '']) {
    const strict = await new World({ WEBHOOK_ALLOW_INSECURE }).account();
    expect((await register(strict, 'http://localhost/')).status).toBe(400);
  }
});

describe('at every delivery', () => {
  async function makeScene(host?: string) {
    const world = new World();
    const account = await world.account();
    const webhook = await makeWebhook(account);
    if (host) world.internet.on(host, answers(200));
    const send = async () => {
      world.advance(1);
      await account.must(202, 'POST', `/v1/webhooks/${webhook.id}/test`);
      await world.deliver();
      const [{ id }] = await listDeliveries(account, webhook);
      return readDelivery(account, webhook, id);
    };
    return { world, account, webhook, send };
  }

  it('the URL is checked again', async () => {
    const { world, account, webhook, send } = await makeScene();
    world.restart({ WEBHOOK_ALLOW_INSECURE: 'on' });
    for (const url of ['http://127.0.0.1:9000/', 'http://example.com/']) {
      await account.must(200, 'PUT', `/v1/webhooks/${webhook.id}`, { url });
      delete world.env.WEBHOOK_ALLOW_INSECURE;
      world.restart();
      const delivery = await send();
      expect([delivery.status, delivery.attempts, delivery.last_status_code]).toEqual([
        'pending',
        1,
        null,
      ]);
      expect(delivery.last_error).toMatch(/^The URL must/);
      world.restart({ WEBHOOK_ALLOW_INSECURE: 'on' });
    }
    expect(world.internet.requests).toEqual([]);
  });

  it.each([
    [['127.0.0.1']],
    [['93.184.215.14', '10.0.0.1']],
    [['93.184.215.14', '::1']],
    [['fd00::1']],
    [['::ffff:93.184.215.14']],
    [['169.254.169.254']],
    [['nonsense', '93.184.215.14:80']],
  ])('nothing is sent to a host name with the addresses %j', async (addresses) => {
    const { world, webhook, send } = await makeScene();
    world.internet.addresses.set(webhook.host, addresses);
    expect((await send()).last_error).toMatch(/not public|no address/);
    expect(world.internet.received).toEqual([]);
    world.internet.addresses.set(webhook.host, [
      '93.184.215.14',
      '2606:2800:21f:cb07:6820:80da:af6b:8b2c',
    ]);
    expect((await send()).status).toBe('succeeded');
  });

  it.each<[string, () => Response | Promise<Response>, RegExp]>([
    ['does not exist', () => Response.json({ Status: 3 }), /does not exist/],
    [
      'has no address',
      () => Response.json({ Status: 0, Answer: [{ type: 5, data: 'a.example.com' }] }),
      /no address/,
    ],
    ['cannot be resolved', () => Response.json({ Status: 2 }), /could not be looked up/],
    [
      'makes the resolver answer 500',
      () => new Response('', { status: 500 }),
      /could not be looked up/,
    ],
    [
      'makes the resolver answer with invalid JSON',
      () => new Response('<html>'),
      /could not be looked up/,
    ],
    [
      'makes the request to the resolver fail',
      () => Promise.reject(new TypeError('Network connection lost.')),
      /could not be looked up/,
    ],
  ])('nothing is sent to a host name that %s', async (_, resolver, reason) => {
    const { world, send } = await makeScene();
    world.internet.resolver = resolver;
    const delivery = await send();
    expect(delivery.last_error).toMatch(reason);
    expect([delivery.status, delivery.attempts]).toEqual(['pending', 1]);
    expect(world.internet.received).toEqual([]);
  });

  const A = [{ type: 1, data: '93.184.215.14' }];
  const AAAA = [{ type: 28, data: '2606:2800:21f:cb07:6820:80da:af6b:8b2c' }];
  const NO_SUCH_NAME = { Status: 3 };
  it.each<[string, object, object, RegExp | null]>([
    ['AAAA denies the name', { Status: 0, Answer: A }, NO_SUCH_NAME, null],
    ['A denies the name', NO_SUCH_NAME, { Status: 0, Answer: AAAA }, null],
    [
      'AAAA has an alias of nothing',
      { Status: 0, Answer: A },
      { Status: 3, Answer: [{ type: 5, data: 'b.com' }] },
      null,
    ],
    [
      'A is private and AAAA denies',
      { Status: 0, Answer: [{ type: 1, data: '10.0.0.1' }] },
      NO_SUCH_NAME,
      /not public/,
    ],
    [
      'a denial holds a private address',
      { Status: 0, Answer: A },
      { Status: 3, Answer: [{ type: 28, data: '::1' }] },
      /not/,
    ],
    ['A is empty and AAAA denies', { Status: 0 }, NO_SUCH_NAME, /no address/],
    ['A denies and AAAA is empty', NO_SUCH_NAME, { Status: 0 }, /no address/],
    ['AAAA fails', { Status: 0, Answer: A }, { Status: 2 }, /could not be looked up/],
    ['A is refused', { Status: 5 }, { Status: 0, Answer: AAAA }, /could not be looked up/],
    ['A denies and AAAA is not implemented', NO_SUCH_NAME, { Status: 4 }, /could not be looked up/],
    ['AAAA has no status', { Status: 0, Answer: A }, {}, /could not be looked up/],
  ])('a name of which %s is judged by both answers', async (_, a, aaaa, fault) => {
    const { world, send } = await makeScene();
    world.internet.resolver = (_name, type) => Response.json(type === 'A' ? a : aaaa);
    const delivery = await send();
    if (fault) expect(delivery.last_error).toMatch(fault);
    expect(delivery.status).toBe(fault ? 'pending' : 'succeeded');
    expect(world.internet.received).toHaveLength(fault ? 0 : 1);
  });

  it('a host name is looked up once per claim, or never if lookups are off', async () => {
    const { world, account, webhook, send } = await makeScene();
    const agent = await account.agent();
    for (let i = 0; i < 5; i++) await agent.request();
    await world.deliver();
    expect(world.internet.requests.map(({ url }) => new URL(url).hostname).toSorted()).toEqual([
      'cloudflare-dns.com',
      'cloudflare-dns.com',
      ...Array(5).fill(webhook.host),
    ]);
    world.internet.requests = [];
    world.restart({ WEBHOOK_DNS: 'off' });
    expect((await send()).status).toBe('succeeded');
    expect(world.internet.requests.map(({ url }) => new URL(url).hostname)).toEqual([webhook.host]);
  });

  it('redirects are not followed', async () => {
    const { world, webhook, send } = await makeScene('elsewhere.example.com');
    for (const status of [301, 302, 303, 307, 308]) {
      world.internet.on(
        webhook.host,
        answers(status, { Location: 'https://elsewhere.example.com/' }),
      );
      const delivery = await send();
      expect([delivery.status, delivery.last_status_code]).toEqual(['pending', status]);
      expect(delivery.last_error).toMatch(/redirect/);
    }
    expect(world.internet.sentTo('elsewhere.example.com')).toEqual([]);
    for (const { options } of world.internet.requests) expect(options.redirect).toBe('manual');
  });
});

it.each<[boolean, string[]]>([
  [
    true,
    [
      ...[
        '1.1.1.1',
        '8.8.8.8',
        '9.255.255.255',
        '11.0.0.0',
        '100.63.255.255',
        '100.128.0.0',
        '126.255.255.255',
        '128.0.0.0',
      ],
      ...[
        '169.253.255.255',
        '169.255.0.0',
        '172.15.255.255',
        '172.32.0.0',
        '192.0.1.0',
        '192.167.255.255',
        '192.169.0.0',
      ],
      ...[
        '198.17.255.255',
        '198.20.0.0',
        '223.255.255.255',
        '2606:4700::1111',
        '2001:200::1',
        '2a00:1450::1',
        '3ffe::1',
      ],
    ],
  ],
  [
    false,
    [
      ...[
        '0.0.0.0',
        '0.255.255.255',
        '10.0.0.0',
        '10.255.255.255',
        '100.64.0.0',
        '100.127.255.255',
        '127.0.0.1',
        '127.255.255.255',
      ],
      ...[
        '169.254.0.0',
        '169.254.255.255',
        '172.16.0.0',
        '172.31.255.255',
        '192.0.0.1',
        '192.0.2.1',
        '192.88.99.1',
        '192.168.0.1',
      ],
      ...[
        '198.18.0.0',
        '198.19.255.255',
        '198.51.100.1',
        '203.0.113.1',
        '224.0.0.1',
        '239.255.255.255',
        '240.0.0.0',
        '255.255.255.255',
      ],
      ...[
        '::',
        '::1',
        '::ffff:8.8.8.8',
        '::8.8.8.8',
        '64:ff9b::808:808',
        '100::1',
        'fc00::1',
        'fdff::1',
        'fe80::1',
        'fec0::1',
      ],
      ...[
        'ff02::1',
        '2001::1',
        '2001:0:1::1',
        '2001:db8::1',
        '2001:1ff::1',
        '2002:808:808::1',
        '3fff::1',
        '3fff:fff::1',
        '4000::1',
      ],
      ...[
        '',
        'x',
        '1.1.1',
        '1.1.1.1.1',
        '256.1.1.1',
        '1.1.1.1:80',
        '[2606:4700::1111]',
        '2606:4700::1111%eth0',
        '01.1.1.1x',
      ],
    ],
  ],
])('isPublicAddress returns %s for each listed address', (isPublic, addresses) => {
  for (const address of addresses)
    expect([address, isPublicAddress(address)]).toEqual([address, isPublic]);
});
