import { Authenticator, type Tampering } from './authenticator';
import { type Answer, type Json, ORIGIN, type World } from './world';

/** A browser with a software authenticator that visits the console. It keeps the session cookie. */
export class Browser {
  readonly authenticator = new Authenticator(ORIGIN);
  cookie = '';

  constructor(readonly world: World) {}

  /** Loads a page. */
  get(path: string): Promise<Answer> {
    return this.send('GET', path);
  }

  /** Sends a change as the page's script does. */
  async change(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const csrf = this.cookie === '' ? '' : await this.csrf();
    return this.send(method, path, {
      ...(body !== undefined && { body }),
      headers: { Origin: ORIGIN, 'X-CSRF-Token': csrf, ...headers },
    });
  }

  /** Sends a form as the browser does without the page's script. */
  async submit(path: string, fields: Record<string, string> = {}): Promise<Answer> {
    const raw = new URLSearchParams({ csrf: await this.csrf(), ...fields }).toString();
    const headers = { Origin: ORIGIN, 'Content-Type': 'application/x-www-form-urlencoded' };
    return this.send('POST', path, { raw, headers });
  }

  /** The CSRF token that the pages have; empty if nobody is signed in. */
  async csrf(): Promise<string> {
    const { text } = await this.send('GET', '/console/me');
    return /name="csrf-token" content="([^"]+)"/.exec(text)?.[1] ?? '';
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

  /** Makes a user token of the member who is signed in. */
  async makeToken(name = 'Terminal'): Promise<string> {
    const { text } = await this.submit('/console/me/tokens', { name });
    const token = /csu_[0-9A-Za-z]{40}/.exec(text)?.[0];
    if (!token) throw new Error(`the page shows no user token: ${text}`);
    return token;
  }

  /** Sends a request with the cookie, and keeps the one that the answer sets. */
  async send(method: string, path: string, call: Json = {}): Promise<Answer> {
    const headers = { ...call.headers, ...(this.cookie && { Cookie: this.cookie }) };
    const answer = await this.world.call(method, path, { ...call, headers });
    const [set] = answer.headers.getSetCookie();
    if (set) this.cookie = set.includes('Max-Age=0') ? '' : (set.split(';')[0] ?? '');
    return answer;
  }
}
