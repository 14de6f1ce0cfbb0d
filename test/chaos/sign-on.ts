import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JWK } from 'jose';
import { makeKey, makeProvider } from '../support/provider.ts';

const AUDIENCE = 'https://countersign.chaos';
const SECRET = 'secret-of-everybody';
/** How many people the provider knows. */
const PEOPLE = 2_000;
const CLIENTS = Array.from({ length: PEOPLE }, (_, i) => ({ id: `person-${i}`, secret: SECRET }));

/** An identity provider that runs beside the service. */
export class SignOn {
  readonly issuer: string;
  /** How many keys have been in use. */
  rotations = 0;
  private readonly server: Server;
  private keys: JWK[] = [];
  private answer: ReturnType<typeof makeProvider> = async () => undefined;
  private readonly tokens = new Map<string, Promise<string>>();

  private constructor(server: Server) {
    this.server = server;
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => void this.answer(request, response));
  }

  static async start(): Promise<SignOn> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const started = new SignOn(server);
    await started.rotate();
    return started;
  }

  /** The variables that make a service use this provider, as lines of a file. */
  get variables(): string {
    return `OIDC_ISSUER="${this.issuer}"\nOIDC_AUDIENCE="${AUDIENCE}"\n`;
  }

  /** Signs with a new key from now on; the previous key stays published, older ones do not. */
  async rotate(): Promise<void> {
    this.rotations += 1;
    this.keys = [await makeKey(), ...this.keys.slice(0, 1)];
    this.answer = makeProvider(this.issuer, AUDIENCE, CLIENTS, this.keys);
    this.tokens.clear();
  }

  /** A token of a person, signed with the newest key. */
  tokenOf(person: number): Promise<string> {
    const { id } = CLIENTS[person] ?? {};
    if (!id) throw new Error(`there is no person ${person}: the provider knows ${PEOPLE}`);
    const token = this.tokens.get(id) ?? this.askFor(id);
    this.tokens.set(id, token);
    return token;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async askFor(id: string): Promise<string> {
    const response = await fetch(`${this.issuer}/token`, {
      method: 'POST',
      headers: { Authorization: `Basic ${btoa(`${id}:${SECRET}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    if (!response.ok)
      throw new Error(
        `the identity provider answered ${response.status}: ${await response.text()}`,
      );
    return ((await response.json()) as { access_token: string }).access_token;
  }
}
