/** A request as a receiver got it. */
export interface Received {
  url: string;
  headers: Headers;
  body: string;
  /** The body as it was sent, if that was not text. */
  bytes: Uint8Array | null;
}

/** Handles a request: it answers, or throws as a failed connection does. */
export type Receiver = (received: Received, signal: AbortSignal) => Response | Promise<Response>;

/** Replaces the network: hosts are handled by functions of the test, and no other host exists. */
export class Internet {
  /** Every request to a host, in order. */
  received: Received[] = [];
  /** The URL and options of every request, including name lookups. */
  requests: { url: string; options: RequestInit }[] = [];
  /** The addresses of host names; a host name that is not in the map has a public address. */
  readonly addresses = new Map<string, string[]>();
  /** Replaces the resolver if it is not null. */
  resolver: ((name: string, type: string) => Response | Promise<Response>) | null = null;
  private readonly hosts = new Map<string, Receiver>();
  private readonly timeouts: AbortController[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly advance: (milliseconds: number) => void) {}

  /** Sets how a host handles requests. */
  on(host: string, receiver: Receiver): void {
    this.hosts.set(host, receiver);
  }

  /** The requests to a host, in order. */
  sentTo(host: string): Received[] {
    return this.received.filter(({ url }) => new URL(url).hostname === host);
  }

  timeout(): AbortSignal {
    const controller = new AbortController();
    this.timeouts.push(controller);
    return controller.signal;
  }

  /** Moves the clock by 15 seconds in a moment, so that the pending requests time out. */
  timeOutSoon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.advance(15_000);
      for (const controller of this.timeouts.splice(0))
        controller.abort(new Error('The operation was aborted'));
    });
  }

  async fetch(url: string, options: RequestInit): Promise<Response> {
    this.requests.push({ url, options });
    const { hostname, searchParams } = new URL(url);
    if (hostname === 'cloudflare-dns.com') return this.resolve(searchParams);
    const receiver = this.hosts.get(hostname);
    if (!receiver) throw new TypeError('Network connection lost.');
    const received = {
      url,
      headers: new Headers(options.headers),
      body: textOf(options.body),
      ...bytesOf(options.body),
    };
    this.received.push(received);
    return receiver(received, options.signal as AbortSignal);
  }

  private resolve(query: URLSearchParams): Response | Promise<Response> {
    const [name, type] = [query.get('name') ?? '', query.get('type') ?? ''];
    if (this.resolver) return this.resolver(name, type);
    const addresses = this.addresses.get(name) ?? ['93.184.215.14'];
    const code = type === 'A' ? 1 : 28;
    const answers = addresses.filter((address) => address.includes(':') === (type === 'AAAA'));
    return Response.json({
      Status: 0,
      Answer: answers.map((data) => ({ name, type: code, TTL: 60, data })),
    });
  }
}

/** The body of a request as text. */
function textOf(body: RequestInit['body']): string {
  return body instanceof Uint8Array ? new TextDecoder().decode(body) : String(body);
}

function bytesOf(body: RequestInit['body']): Pick<Received, 'bytes'> {
  return { bytes: body instanceof Uint8Array ? body : null };
}

/** A receiver that never answers: all requests that are pending together time out. */
export function hang(internet: Internet): Receiver {
  return () => {
    internet.timeOutSoon();
    return new Promise(() => undefined);
  };
}

/** A receiver that answers with a status. */
export function answers(status: number, headers: Record<string, string> = {}): Receiver {
  return () => new Response(null, { status, headers });
}
