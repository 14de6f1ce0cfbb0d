import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Octokit } from '@octokit/rest';
import type { WebClient } from '@slack/web-api';
import type OpenAI from 'openai';
import type Stripe from 'stripe';
import { ROOT } from '../../../src/tools/project';
import { linkPackages } from './installed-client';

/** The calls of a client that the tests make. */
export interface SdkCalls {
  /** Does something that asks for permission. A key is sent where the SDK sends keys. */
  act: (options?: ActOptions) => Promise<unknown>;
  /** Reads something. */
  read: () => Promise<unknown>;
  /** Sends a file. */
  upload: () => Promise<unknown>;
}

export interface ActOptions {
  idempotencyKey?: string;
  /** In milliseconds, for the SDKs that try again after it. */
  timeout?: number;
  maxRetries?: number;
}

/** What the errors of the SDKs have, each in another place. */
export interface SdkError extends Error {
  code?: string;
  status?: number;
  statusCode?: number;
  body?: { code?: string };
  response?: { data?: { code?: string } };
}

/** Where a client sends its calls, and with which key. */
export interface Settings {
  baseUrl: string;
  key: string;
}

/** A part of a multipart form. */
export type Part = [name: string, content: string, filename?: string, type?: string];

/** The SDK of another service. */
export interface Sdk {
  name: string;
  /** The path of the base URL of the service. */
  basePath: string;
  /** The rule for {@link SdkCalls.read}. */
  reads: { methods?: string[]; paths?: string[] };
  load: (folder: string, settings: Settings) => Promise<SdkCalls>;
  /** What the service receives of {@link SdkCalls.act}, and how it answers. */
  act: { path: string; contentType: string; accept: string; body: string; answer: object };
  read: { call: string; answer: object };
  upload: { path: string; body: Part[] | string; type: string; answer: object };
  /** The code of an error that the SDK throws. */
  codeOf: (error: SdkError) => string | undefined;
  /** How often it makes a call that is answered 429 without `Retry-After`. */
  triesAt429: number;
  /** How often it makes a call if the first answer is lost, and the second one is a refusal. */
  triesAtLoss: number;
}

const FORM = 'application/x-www-form-urlencoded';
const FILE = '\u00e9 \0\r\n';

export const OPENAI: Sdk = {
  name: 'openai',
  basePath: '/v1',
  reads: { methods: ['GET'] },
  load: async (folder, settings) => {
    const openai = await loadOpenai(folder, settings);
    return {
      act: (options) => openai.chat.completions.create(QUESTION, options),
      read: () => openai.models.retrieve('gpt-5'),
      upload: () =>
        openai.files.create({
          purpose: 'assistants',
          file: new File([FILE], 'ä.txt', { type: 'text/plain' }),
        }),
    };
  },
  act: {
    path: '/v1/chat/completions',
    contentType: 'application/json',
    accept: 'application/json',
    body: '{"model":"gpt-5","messages":[{"role":"user","content":"Grüße, \\"1\\""}]}',
    answer: { id: 'chatcmpl_1', choices: [] },
  },
  read: { call: 'GET /v1/models/gpt-5', answer: { id: 'gpt-5', object: 'model' } },
  upload: {
    path: '/v1/files',
    type: 'multipart/form-data',
    body: [
      ['purpose', 'assistants'],
      ['file', FILE, 'ä.txt', 'text/plain'],
    ],
    answer: { id: 'file_1' },
  },
  codeOf: (error) => error.code,
  triesAt429: 3,
  triesAtLoss: 2,
};

export const QUESTION = {
  model: 'gpt-5',
  messages: [{ role: 'user' as const, content: 'Grüße, "1"' }],
};

export const STRIPE: Sdk = {
  name: 'stripe',
  // The address that the guide's code takes has a path.
  basePath: '/stripe',
  reads: { methods: ['GET'] },
  load: async (folder, settings) => {
    const stripe = await loadStripe(folder, settings);
    return {
      act: ({ maxRetries, ...options } = {}) =>
        stripe.refunds.create(
          { payment_intent: 'pi_1', amount: 250, metadata: { order: '4711 é&' } },
          { ...options, ...(maxRetries && { maxNetworkRetries: maxRetries }) },
        ),
      read: () => stripe.customers.list({ limit: 2, created: { gt: 5 } }),
      upload: () =>
        stripe.files.create({
          purpose: 'dispute_evidence',
          file: { data: Buffer.from(FILE), name: 'e.pdf', type: 'application/pdf' },
        }),
    };
  },
  act: {
    path: '/stripe/v1/refunds',
    contentType: FORM,
    accept: 'application/json',
    body: 'payment_intent=pi_1&amount=250&metadata%5Border%5D=4711+%C3%A9%26',
    answer: { id: 're_1', object: 'refund' },
  },
  read: {
    call: 'GET /stripe/v1/customers?limit=2&created%5Bgt%5D=5',
    answer: { object: 'list', data: [], has_more: false },
  },
  upload: {
    path: '/stripe/v1/files',
    type: 'multipart/form-data',
    body: [
      ['purpose', 'dispute_evidence'],
      ['file', FILE, 'e.pdf', 'application/pdf'],
    ],
    answer: { id: 'file_1', object: 'file' },
  },
  codeOf: (error) => error.code,
  triesAt429: 1,
  triesAtLoss: 2,
};

export const OCTOKIT: Sdk = {
  name: 'octokit',
  basePath: '',
  reads: { methods: ['GET'] },
  load: async (folder, settings) => {
    const octokit = await loadOctokit(folder, settings);
    octokit.log.error = () => undefined;
    const repository = { owner: 'acme', repo: 'shop' };
    return {
      act: () => octokit.rest.issues.create({ ...repository, title: 'Größe' }),
      read: () => octokit.rest.issues.listForRepo({ ...repository, labels: 'a,b c', page: 2 }),
      upload: () =>
        octokit.rest.repos.uploadReleaseAsset({
          ...repository,
          release_id: 7,
          name: 'ä b.zip',
          data: FILE,
          headers: { 'content-type': 'application/zip' },
          baseUrl: settings.baseUrl,
        }),
    };
  },
  act: {
    path: '/repos/acme/shop/issues',
    contentType: 'application/json; charset=utf-8',
    accept: 'application/vnd.github.v3+json',
    body: '{"title":"Größe"}',
    answer: { number: 1, title: 'Größe' },
  },
  read: { call: 'GET /repos/acme/shop/issues?labels=a%2Cb+c&page=2', answer: [] },
  upload: {
    path: '/repos/acme/shop/releases/7/assets?name=%C3%A4+b.zip',
    type: 'application/zip',
    body: FILE,
    answer: { id: 1 },
  },
  codeOf: (error) => error.response?.data?.code,
  triesAt429: 1,
  triesAtLoss: 1,
};

export const SLACK: Sdk = {
  name: 'slack',
  basePath: '/api',
  reads: { paths: ['/*.list'] },
  load: async (folder, settings) => {
    const slack = await loadSlack(folder, settings);
    return {
      act: () => slack.chat.postMessage({ channel: 'C1', text: 'é & 1', blocks: [] }),
      read: () => slack.conversations.list({ limit: 5 }),
      upload: () => slack.users.setPhoto({ image: Buffer.from(FILE) }),
    };
  },
  act: {
    path: '/api/chat.postMessage',
    contentType: FORM,
    accept: 'application/json',
    body: 'channel=C1&text=%C3%A9+%26+1&blocks=%5B%5D',
    answer: { ok: true, ts: '1.2' },
  },
  read: { call: 'POST /api/conversations.list', answer: { ok: true, channels: [] } },
  upload: {
    path: '/api/users.setPhoto',
    type: 'multipart/form-data',
    body: [['image', FILE, 'Untitled', 'application/octet-stream']],
    answer: { ok: true },
  },
  codeOf: (error) => error.body?.code,
  triesAt429: 1,
  triesAtLoss: 1,
};

export const SDKS = [OPENAI, STRIPE, OCTOKIT, SLACK];

const MODULES = {
  openai: { packageName: 'openai', variable: 'OPENAI_PROXY' },
  stripe: { packageName: 'stripe', variable: 'STRIPE_PROXY' },
  octokit: { packageName: '@octokit/rest', variable: 'GITHUB_PROXY' },
  slack: { packageName: '@slack/web-api', variable: 'SLACK_PROXY' },
};

/** Saves the code by which the guide sets up each SDK in a folder, from which it can be loaded. */
export function saveGuideModules(folder: string): void {
  const guide = readFileSync(join(ROOT, 'src/docs/guides/connections.md'), 'utf8');
  const blocks = [...guide.matchAll(/^```js\n([\s\S]*?)^```/gm)].map(([, code = '']) => code);
  for (const [name, { packageName }] of Object.entries(MODULES)) {
    const code = blocks.find((block) => block.includes(`from '${packageName}'`));
    if (!code) throw new Error(`the guide has no code for ${packageName}`);
    writeFileSync(join(folder, `${name}.mjs`), code);
  }
  linkPackages(folder, ...Object.values(MODULES).map(({ packageName }) => packageName));
}

let loads = 0;

/** Loads what the guide's code for an SDK exports, with its settings in the environment. */
async function loadFromGuide(
  folder: string,
  name: keyof typeof MODULES,
  { baseUrl, key }: Settings,
) {
  process.env[MODULES[name].variable] = baseUrl;
  process.env.COUNTERSIGN_API_KEY = key;
  loads += 1;
  const path = pathToFileURL(join(folder, `${name}.mjs`));
  return (await import(`${path.href}?load=${loads}`))[name];
}

export function loadOpenai(folder: string, settings: Settings): Promise<OpenAI> {
  return loadFromGuide(folder, 'openai', settings);
}

export function loadStripe(folder: string, settings: Settings): Promise<Stripe> {
  return loadFromGuide(folder, 'stripe', settings);
}

export function loadOctokit(folder: string, settings: Settings): Promise<Octokit> {
  return loadFromGuide(folder, 'octokit', settings);
}

export function loadSlack(folder: string, settings: Settings): Promise<WebClient> {
  return loadFromGuide(folder, 'slack', settings);
}
