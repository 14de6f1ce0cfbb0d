import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { chooseAddress } from '../../src/tools/deploy/choose-address';
import { chooseDatabases } from '../../src/tools/deploy/choose-databases';
import { Cloudflare } from '../../src/tools/deploy/cloudflare';
import {
  makeConfiguration,
  queueNames,
  readConfiguration,
} from '../../src/tools/deploy/configuration';
import type { Found, FoundQueue, FoundWorker } from '../../src/tools/deploy/found';
import { readCredentials } from '../../src/tools/deploy/login';
import { readOptions } from '../../src/tools/deploy/options';
import { choose, printStep } from '../../src/tools/deploy/report';
import { consumesAll, requireOwnQueues } from '../../src/tools/deploy/steps/queues';
import { ROOT, readJsonFile } from '../../src/tools/project';
import { runProgram, UserError } from '../../src/tools/user-error';

vi.mock('node:readline/promises', () => ({
  createInterface: () => ({ question: async () => '1', close: () => {} }),
}));
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const CONFIGURATION = {
  name: 'countersign',
  d1_databases: [{ binding: 'DB', database_name: 'countersign' }],
};
const PLACEHOLDER = '00000000-0000-0000-0000-000000000000';
const ID = '4d6d2f5e-0000-4000-8000-000000000000';

function worker(bindings: FoundWorker['bindings'], domains: string[] = []): FoundWorker {
  return { bindings, versions: [], crons: [], servesWorkersDev: false, domains };
}

function found(parts: Partial<Found>): Found {
  return { worker: null, queues: new Map(), buckets: new Map(), subdomain: 'acme', ...parts };
}

describe('options', () => {
  it('are all optional', () => {
    expect(readOptions([])).toMatchObject({
      ...{ isDryRun: false, domain: null, shards: null, plan: 'pro', healthTimeoutSeconds: 180 },
    });
    expect(readOptions(['--help'])).toBeNull();
  });

  it.each([
    [['--domian', 'example.com'], /Unknown option '--domian'/],
    [['example.com'], /Unexpected argument/],
    [['--domain', 'https://example.com'], /--domain https:\/\/example\.com is not valid/],
    [['--domain', 'localhost'], /is not valid/],
    [['--email', 'nobody'], /is not valid/],
    [['--shards', '0'], /from 1 to 10/],
    [['--shards', '11'], /from 1 to 10/],
    [['--shards', 'two'], /is not valid/],
    [['--plan', 'gold'], /is not valid/],
  ])('%j are refused', (words, message) => {
    expect(() => readOptions(words)).toThrow(message);
  });
});

describe('the address', () => {
  const url = (text: string) => worker([{ type: 'plain_text', name: 'PUBLIC_URL', text }]);
  const secret = worker([{ type: 'secret_text', name: 'PUBLIC_URL' }], ['by-hand.example.com']);
  const choose = (parts: Partial<Found>, options = {}, configuration = {}) =>
    chooseAddress({ ...CONFIGURATION, ...configuration }, found(parts), {
      ...{ domain: null, subdomain: null, changesAddress: false },
      ...options,
    });
  const DEV = 'https://countersign.acme.workers.dev';
  const custom = [{ pattern: 'toml.example.com', custom_domain: true }];

  it.each([
    ['below workers.dev', {}, {}, {}, DEV],
    ['the domain that is asked for', {}, { domain: 'a.example.com' }, {}, 'https://a.example.com'],
    ['the domain in wrangler.toml', {}, {}, { routes: custom }, 'https://toml.example.com'],
    [
      'as it is deployed on a domain',
      { worker: url('https://b.example.com') },
      {},
      {},
      'https://b.example.com',
    ],
    ['as it is deployed below workers.dev', { worker: url(DEV) }, {}, {}, DEV],
    [
      'another one if that is meant',
      { worker: url(DEV) },
      { domain: 'a.example.com', changesAddress: true },
      {},
      'https://a.example.com',
    ],
  ])('is %s', (_, parts, options, configuration, origin) => {
    expect(choose(parts, options, configuration)).toMatchObject({
      origin,
      publicUrl: origin,
      newSubdomain: null,
    });
  });

  it('stays a secret where it is one', () => {
    expect(choose({ worker: secret })).toMatchObject({
      origin: 'https://by-hand.example.com',
      publicUrl: null,
    });
  });

  it('includes a name under workers.dev to register, where there is none', () => {
    const address = choose({ subdomain: null }, { subdomain: 'new' });
    expect(address).toMatchObject({
      origin: 'https://countersign.new.workers.dev',
      newSubdomain: 'new',
    });
    expect(choose({ subdomain: null }, { domain: 'a.example.com' }).newSubdomain).toBeNull();
  });

  it.each([
    ['it would change', { worker: url(DEV) }, { domain: 'a.example.com' }, /no passkey works/],
    [
      'it would replace a secret',
      { worker: secret },
      { domain: 'a.example.com' },
      /--change-address/,
    ],
    ['there is no name under workers.dev', { subdomain: null }, {}, /--subdomain acme/],
  ])('is refused if %s', (_, parts, options, message) => {
    expect(() => choose(parts, options)).toThrow(message);
  });
});

describe('the databases', () => {
  it('are one by default, and more when asked for', () => {
    const placeholder = {
      ...CONFIGURATION,
      d1_databases: [{ binding: 'DB', database_id: PLACEHOLDER }],
    };
    expect(chooseDatabases(placeholder, null, null)).toEqual([
      { binding: 'DB', name: 'countersign', id: null },
    ]);
    expect(
      chooseDatabases(CONFIGURATION, null, 3).map(({ binding, name }) => [binding, name]),
    ).toEqual([
      ['DB', 'countersign'],
      ['DB_01', 'countersign-01'],
      ['DB_02', 'countersign-02'],
    ]);
  });

  it('are never fewer than the deployed ones, and keep their ids', () => {
    const deployed = worker([
      { type: 'd1', name: 'DB', id: ID },
      { type: 'd1', name: 'DB_01', database_id: `${ID}1` },
    ]);
    expect(chooseDatabases(CONFIGURATION, deployed, 1)).toEqual([
      { binding: 'DB', name: 'countersign', id: ID },
      { binding: 'DB_01', name: 'countersign-01', id: `${ID}1` },
    ]);
  });

  it('are refused if wrangler.toml names another database than the one that is deployed', () => {
    const written = { ...CONFIGURATION, d1_databases: [{ binding: 'DB', database_id: ID }] };
    expect(chooseDatabases(written, null, null)[0]?.id).toBe(ID);
    const deployed = worker([{ type: 'd1', name: 'DB', id: `${ID}1` }]);
    expect(() => chooseDatabases(written, deployed, null)).toThrow(
      /Another database has none of its accounts/,
    );
  });
});

describe('the queues', () => {
  const configuration = readConfiguration();
  const queue = (name: string, script: string, dead = `${name}-dead`): [string, FoundQueue] => [
    name,
    { queue_name: name, consumers: [{ script, dead_letter_queue: dead }] },
  ];
  const names = ['jobs', 'webhooks', 'webhooks-slow'];

  it('are made after those that receive their dead letters', () => {
    expect(queueNames(configuration)).toEqual([...names.map((name) => `${name}-dead`), ...names]);
  });

  it('are refused if another Worker consumes one', () => {
    const queues = new Map([queue('jobs', 'shop')]);
    expect(() => requireOwnQueues(configuration, { queues })).toThrow(
      /The Worker shop consumes the queue jobs/,
    );
  });

  it('are consumed when each has this Worker and its dead-letter queue', () => {
    const whole = names.map((name) => queue(name, 'countersign'));
    expect(consumesAll(configuration, { queues: new Map(whole) })).toBe(true);
    expect(consumesAll(configuration, { queues: new Map(whole.slice(1)) })).toBe(false);
    const wrong = [...whole.slice(1), queue('jobs', 'countersign', 'elsewhere')];
    expect(consumesAll(configuration, { queues: new Map(wrong) })).toBe(false);
  });
});

describe('the login', () => {
  it('is read after what wrangler prints for people', () => {
    const credentials = { type: 'oauth', token: 'secret' };
    expect(readCredentials(`Refreshed.\n${JSON.stringify(credentials, null, 2)}\n`)).toEqual(
      credentials,
    );
  });

  it.each(['', 'Token: 7', '{"type": "oauth", "token": "s3cret'])(
    'is not read from %j',
    (printed) => {
      expect(() => readCredentials(printed)).toThrow(UserError);
      expect(() => readCredentials(printed)).toThrow(
        /^Cannot read the Cloudflare login\. (?!.*s3cret)/,
      );
    },
  );
});

describe("an answer of Cloudflare's API", () => {
  const find = (body: BodyInit, signal = new AbortController().signal) => {
    vi.stubGlobal('fetch', async () => new Response(body));
    return new Cloudflare({}, signal).find('/accounts');
  };
  const broken = () =>
    new ReadableStream({ start: (stream) => stream.error(new TypeError('terminated')) });

  it('that breaks off is no answer', async () => {
    await expect(find(broken())).rejects.toThrow("Cloudflare's API did not answer: terminated");
    await expect(find('<html>')).rejects.toThrow(
      'Cloudflare answered GET /accounts with 200: no reason',
    );
  });

  it('that the operator stops is not an error of Cloudflare', async () => {
    await expect(find(broken(), AbortSignal.abort())).rejects.toThrow(/aborted/);
  });
});

describe('a text that somebody else wrote', () => {
  const CLEAR = '\u001b[2J\u202e';
  const SHOWN = '\\u{1b}[2J\\u{202e}';

  it('is escaped in the lines of steps and in questions', async () => {
    const log = vi.spyOn(console, 'log').mockReturnValue();
    printStep('made', 'account', `Acme${CLEAR}`);
    await choose('Which?', [`Acme${CLEAR}`], new AbortController().signal);
    const [step, , answer] = log.mock.calls.map(([line]) => String(line));
    expect(step).toMatch(/account +Acme/);
    for (const line of [step, answer]) expect(line?.endsWith(`Acme${SHOWN}`), line).toBe(true);
  });

  it('is escaped in errors, whose lines stay', async () => {
    const { exitCode } = process;
    const error = vi.spyOn(console, 'error').mockReturnValue();
    await runProgram(() =>
      Promise.reject(new UserError(`failed: ${CLEAR}\n\nNothing was changed.`)),
    );
    process.exitCode = exitCode;
    expect(error).toHaveBeenCalledWith(`failed: ${SHOWN}\n\nNothing was changed.`);
  });
});

it('the configuration that is deployed has all that wrangler.toml has, and what is known of the deployment', () => {
  const routes = ['example.com/countersign/*', { pattern: 'old.example.com', custom_domain: true }];
  const text = makeConfiguration(
    { ...readConfiguration(), routes, vars: { OIDC_ISSUER: 'https://id.example.com' } },
    {
      account: 'acme',
      databases: [{ binding: 'DB', name: 'countersign', id: ID }],
      jurisdiction: 'eu',
      domain: 'a.example.com',
      servesWorkersDev: false,
      publicUrl: 'https://a.example.com',
    },
  );
  for (const line of [
    'main = "src/index.ts"',
    'crons = [ "* * * * *", "17 * * * *" ]',
    `database_id = "${ID}"`,
    'account_id = "acme"',
    'jurisdiction = "eu"',
    'preview_urls = false',
    'keep_vars = true',
    'OIDC_ISSUER = "https://id.example.com"',
    'PUBLIC_URL = "https://a.example.com"',
  ])
    expect(text.split('\n')).toContain(line);
  expect(text).toMatch(
    /routes = \[\s*"example\.com\/countersign\/\*",\s*\{ pattern = "a\.example\.com", custom_domain = true \}\s*\]/,
  );
});

it('a file that an earlier run wrote may be missing, but not damaged', () => {
  expect(readJsonFile(join(ROOT, 'no-such-file.json'))).toBeNull();
  expect(() => readJsonFile(join(ROOT, 'README.md'))).toThrow(UserError);
});

it('every command of the guides is one that the program takes', () => {
  const folder = join(ROOT, 'src/docs/guides');
  const guides = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  const commands = guides.flatMap((text) =>
    [...text.matchAll(/npm run deploy -- ([^`\n]+)/g)].map(([, words = '']) => words),
  );
  expect(commands.length).toBeGreaterThan(4);
  for (const words of commands)
    expect(() => readOptions(words.trim().split(/\s+/)), words).not.toThrow();
});
