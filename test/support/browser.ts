import { csrfToken } from '../../src/console/session/session';
import { Keyring } from '../../src/lib/secrets';
import { Authenticator, type Tampering } from './authenticator';
import { type Answer, type Json, ORIGIN, type World } from './world';

/** A browser with a software authenticator that visits the console. It keeps the cookies. */
export class Browser {
  readonly authenticator = new Authenticator(ORIGIN);
  /** The cookie of the session. */
  cookie = '';
  /** The cookie of a sign-in with the identity provider that has begun. */
  flow = '';
  /** The cookie that tells the next page what a form did. */
  flash = '';
  /** The cookie of the requests that were set aside. */
  aside = '';

  constructor(readonly world: World) {}

  /** Loads a page. */
  get(path: string): Promise<Answer> {
    return this.send('GET', path);
  }

  /** Sends a change as the page's script does. */
  async change(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return this.send(method, path, {
      ...(body !== undefined && { body }),
      headers: { Origin: ORIGIN, 'X-CSRF-Token': await this.csrf(), ...headers },
    });
  }

  /** Sends a form as the browser does without the page's script. */
  async submit(
    path: string,
    fields: Record<string, string | string[]> = {},
    accept = 'text/html',
  ): Promise<Answer> {
    const all = { csrf: await this.csrf(), ...fields };
    const pairs = Object.entries(all).flatMap(([name, values]) =>
      [values].flat().map((value) => [name, value]),
    );
    const raw = new URLSearchParams(pairs).toString();
    const type = 'application/x-www-form-urlencoded';
    return this.send('POST', path, {
      raw,
      headers: { Origin: ORIGIN, Accept: accept, 'Content-Type': type },
    });
  }

  /**
   * The CSRF token that the pages have; empty if nobody is signed in. It is made as the service
   * makes it: to load a page for it would take longer than most changes.
   */
  async csrf(): Promise<string> {
    const keyring = Keyring.parse(this.world.env.ROOT_SECRET ?? '');
    const secret = this.cookie.slice(this.cookie.indexOf('=') + 1);
    if (!keyring || secret === '') return '';
    return csrfToken(keyring, secret);
  }

  /** Accepts an invitation with a new passkey. */
  async join(url: string, tampering: Tampering = {}): Promise<Answer> {
    const path = new URL(url).pathname;
    const { body: options } = await this.change('POST', `${path}/options`);
    const response = await this.authenticator.create(options, tampering);
    return this.change('POST', path, { name: 'Laptop', response });
  }

  /** Signs in with a passkey. */
  async signIn(tampering: Tampering = {}, index?: number): Promise<Answer> {
    this.cookie = '';
    const { body: options } = await this.change('POST', '/console/sign-in/options');
    const response = await this.authenticator.get(options, tampering, index);
    return this.change('POST', '/console/sign-in', { response });
  }

  /** Signs in with a user token, as the form of the page does. */
  async signInWithToken(token: string, headers: Record<string, string> = {}): Promise<Answer> {
    this.cookie = '';
    return this.send('POST', '/console/sign-in/token', {
      raw: new URLSearchParams({ csrf: '', token }).toString(),
      headers: {
        Origin: ORIGIN,
        Accept: 'text/html',
        'Content-Type': 'application/x-www-form-urlencoded',
        ...headers,
      },
    });
  }

  /** Makes a user token of the member who is signed in. */
  async makeToken(name = 'Terminal'): Promise<string> {
    const { text } = await this.submit('/console/me/tokens', { name });
    const token = /csu_[0-9A-Za-z]{40}/.exec(text)?.[0];
    if (!token) throw new Error(`the page shows no user token: ${text}`);
    return token;
  }

  /** Presses a button of a page for people who are not signed in. */
  press(path: string): Promise<Answer> {
    return this.send('POST', path, { headers: { Origin: ORIGIN, Accept: 'text/html' } });
  }

  /** Sends a request with the cookies, and keeps those that the answer sets. */
  async send(method: string, path: string, call: Json = {}): Promise<Answer> {
    const cookies = [this.cookie, this.flow, this.flash, this.aside]
      .filter((cookie) => cookie !== '')
      .join('; ');
    const headers = { ...call.headers, ...(cookies && { Cookie: cookies }) };
    const answer = await this.world.call(method, path, { ...call, headers });
    for (const set of answer.headers.getSetCookie()) {
      const value = set.includes('Max-Age=0') ? '' : (set.split(';')[0] ?? '');
      if (set.startsWith('__Host-countersign-oidc=')) this.flow = value;
      else if (set.startsWith('__Host-countersign-flash=')) this.flash = value;
      else if (set.startsWith('__Host-countersign-aside=')) this.aside = value;
      else this.cookie = value;
    }
    return answer;
  }
}
