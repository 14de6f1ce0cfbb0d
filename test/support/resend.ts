import type { Env } from '../../src/env';
import type { Received } from './internet';
import type { Json, World } from './world';

/** A mail that was accepted. */
interface SentMail {
  /** The address alone. */
  to: string;
  from: string;
  subject: string;
  text: string;
  html: string;
  key: string;
}

const API_KEY = 're_test_key';

/** The settings with which the service sends mail by Resend. */
export const MAIL_SETTINGS: Partial<Env> = {
  RESEND_API_KEY: API_KEY,
  EMAIL_FROM: 'Countersign <approvals@example.com>',
};

/**
 * Stands for the HTTP API of Resend: checks the key and the fields, accepts one mail for each
 * idempotency key, and refuses another mail with the same key.
 */
export class Resend {
  readonly mails: SentMail[] = [];
  /**
   * Answers instead of the next requests, in order: a status, or null for a lost answer after the
   * mail was accepted.
   */
  readonly failures: (number | null)[] = [];
  private readonly bodies = new Map<string, string>();

  /**
   * @param domain mails to other domains are accepted and forgotten: they are of other tests of the
   *   file
   */
  constructor(
    world: World,
    private readonly domain: string,
  ) {
    world.internet.on('api.resend.com', (request) => this.answer(request));
  }

  /** The mails to an address, in order. */
  to(address: string): SentMail[] {
    return this.mails.filter(({ to }) => to === address);
  }

  private answer({ url, headers, body }: Received): Response {
    const failure = this.failures.shift();
    if (typeof failure === 'number')
      return problem(failure, 'application_error', 'Something is wrong.');
    if (new URL(url).pathname !== '/emails')
      return problem(404, 'not_found', 'There is nothing here.');
    if (headers.get('Authorization') !== `Bearer ${API_KEY}`)
      return problem(403, 'invalid_api_key', 'The key is wrong.');
    const key = headers.get('Idempotency-Key') ?? '';
    const earlier = this.bodies.get(key);
    if (earlier !== undefined && earlier !== body) {
      return problem(409, 'invalid_idempotent_request', 'The key was used with another body.');
    }
    const fields: Json = JSON.parse(body);
    const [to] = fields.to;
    if (
      fields.to.length !== 1 ||
      !/@/.test(to) ||
      !fields.subject ||
      !fields.text ||
      !fields.html
    ) {
      return problem(422, 'validation_error', 'A field is missing.');
    }
    if (earlier === undefined) {
      this.bodies.set(key, body);
      const { from, subject, text, html } = fields;
      const address = /<(.*)>$/.exec(to)?.[1] ?? to;
      if (address.endsWith(`@${this.domain}`))
        this.mails.push({ to: address, from, subject, text, html, key });
    }
    if (failure === null) throw new TypeError('Network connection lost.');
    return Response.json({ id: crypto.randomUUID() });
  }
}

function problem(status: number, name: string, message: string): Response {
  return Response.json({ statusCode: status, name, message }, { status });
}
