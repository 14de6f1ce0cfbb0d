import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { sha256, toBase64Url } from '../../src/lib/bytes';
import type { Received } from './internet';
import { type Json, ORIGIN, type World } from './world';

const ISSUER = 'https://id.example.com/tenant';
const HOST = 'id.example.com';
const CLIENT_ID = 'console';

const pair = await generateKeyPair('RS256', { extractable: true });
export const otherPair = await generateKeyPair('RS256', { extractable: true });

/** Who signs in at the provider, and how its answers differ from correct ones. */
export interface Person {
  sub: string;
  email?: string;
  email_verified?: unknown;
  name?: string;
}

/**
 * An identity provider with which people sign in to the console of a world. Tests make it answer as
 * it should not.
 */
export class SignInProvider {
  readonly settings = { OIDC_ISSUER: ISSUER, OIDC_CLIENT_ID: CLIENT_ID };
  /** What the discovery document says differently. */
  configuration: Json = {};
  /** The secret that the client must present; null for a public client. */
  secret: string | null = null;
  /** Claims of the next ID tokens that differ. */
  claims: Json = {};
  key = pair.privateKey;
  /** Whether a code works more than once. */
  acceptsCodesAgain = false;
  /**
   * Whether the ID token leaves out the claims about the person, which are at the UserInfo endpoint
   * then.
   */
  leavesOutProfile = false;
  /** The paths whose requests are answered 500. */
  broken: string[] = [];
  /** The requests to the token endpoint. */
  exchanges: Received[] = [];
  private readonly people = new Map<string, Person>();
  private readonly codes = new Map<string, { parameters: URLSearchParams; person: Person }>();

  constructor(private readonly world: World) {
    Object.assign(world.env, this.settings);
    world.internet.on(HOST, (received) => this.answer(received));
  }

  /** The person signs in. Returns the query with which the provider sends the person back. */
  signIn(address: string, person: Person): string {
    const url = new URL(address);
    const parameters = url.searchParams;
    const expected = {
      response_type: 'code',
      client_id: CLIENT_ID,
      redirect_uri: `${ORIGIN}/console/oidc/callback`,
      scope: 'openid email profile',
      code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(expected)) {
      if (parameters.get(name) !== value) throw new Error(`${name} is ${parameters.get(name)}`);
    }
    if (url.origin + url.pathname !== `${ISSUER}/authorize`)
      throw new Error(`${address} is not the provider`);
    const code = crypto.randomUUID();
    this.codes.set(code, { parameters, person });
    return this.sendBack(address, { code });
  }

  /** The query with which the provider sends a person back. */
  sendBack(address: string, answer: Record<string, string>): string {
    const state = new URL(address).searchParams.get('state') ?? '';
    return new URLSearchParams({ state, iss: ISSUER, ...answer }).toString();
  }

  /** A JWT that the provider gives to another program of the person. */
  makeAccessToken(sub: string, aud: string): Promise<string> {
    const now = Math.floor(this.world.now / 1_000);
    const claims = { iss: ISSUER, aud, sub, iat: now, exp: now + 300 };
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'first' })
      .sign(pair.privateKey);
  }

  private async answer(received: Received): Promise<Response> {
    const path = received.url.slice(ISSUER.length);
    if (this.broken.includes(path)) return new Response('<h1>Server error</h1>', { status: 500 });
    switch (path) {
      case '/.well-known/openid-configuration':
        return Response.json({
          issuer: ISSUER,
          authorization_endpoint: `${ISSUER}/authorize`,
          token_endpoint: `${ISSUER}/token`,
          userinfo_endpoint: `${ISSUER}/userinfo`,
          jwks_uri: `${ISSUER}/jwks`,
          authorization_response_iss_parameter_supported: true,
          ...this.configuration,
        });
      case '/jwks':
        return Response.json({
          keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'first', use: 'sig', alg: 'RS256' }],
        });
      case '/token':
        this.exchanges.push(received);
        return this.exchange(received);
      case '/userinfo':
        return this.showProfile(received);
      default:
        return new Response(null, { status: 404 });
    }
  }

  private async exchange({ headers, body }: Received): Promise<Response> {
    const form = new URLSearchParams(body);
    const code = form.get('code') ?? '';
    const begun = this.codes.get(code);
    if (!this.acceptsCodesAgain) this.codes.delete(code);
    const basic = headers.get('Authorization');
    const id = form.get('client_id') ?? atob(basic?.replace('Basic ', '') ?? '').split(':')[0];
    const secret =
      form.get('client_secret') ??
      (basic && atob(basic.replace('Basic ', '')).split(':')[1]) ??
      null;
    if (id !== CLIENT_ID || secret !== this.secret)
      return Response.json({ error: 'invalid_client' }, { status: 401 });
    const challenge = toBase64Url(await sha256(form.get('code_verifier') ?? ''));
    const isRight =
      begun?.parameters.get('code_challenge') === challenge &&
      begun.parameters.get('redirect_uri') === form.get('redirect_uri') &&
      form.get('grant_type') === 'authorization_code';
    if (!isRight)
      return Response.json({ error: 'invalid_grant', error_description: code }, { status: 400 });
    const { person, parameters } = begun;
    const now = Math.floor(this.world.now / 1_000);
    const usual = {
      iss: ISSUER,
      aud: CLIENT_ID,
      nonce: parameters.get('nonce'),
      iat: now,
      exp: now + 300,
    };
    const claims = {
      ...usual,
      ...(this.leavesOutProfile ? { sub: person.sub } : person),
      ...this.claims,
    };
    const idToken = new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'first' });
    const answer = {
      access_token: code,
      token_type: 'Bearer',
      expires_in: 60,
      id_token: await idToken.sign(this.key),
    };
    this.people.set(code, person);
    return Response.json(answer);
  }

  private showProfile({ headers }: Received): Response {
    const person = this.people.get(headers.get('Authorization')?.replace('Bearer ', '') ?? '');
    return person ? Response.json(person) : new Response(null, { status: 401 });
  }
}
