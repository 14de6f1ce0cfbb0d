/** A message as a receiver got it. */
export interface Received {
  url: string;
  headers: Headers;
  body: string;
}

/** What a receiver does with a message. It may answer, or fail as a connection fails. */
export type Receiver = (received: Received, signal: AbortSignal) => Response | Promise<Response>;

/** The servers of everybody else, in place of the network: each host does what a test says, and none is there else. */
export class Internet {
  /** Every message that was sent, in order. */
  received: Received[] = [];
  /** The options of every request, lookups of names as well. */
  requests: { url: string; options: RequestInit }[] = [];
  /** The addresses of names; of one that is not here a public address. */
  readonly addresses = new Map<string, string[]>();
  /** In place of the resolver's answer. */
  resolver: ((name: string, type: string) => Response | Promise<Response>) | null = null;
  private readonly hosts = new Map<string, Receiver>();
  private readonly timeouts: AbortController[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly advance: (milliseconds: number) => void) {}

  /** Lets a host do something with what it is sent. */
  on(host: string, receiver: Receiver): void {
    this.hosts.set(host, receiver);
  }

  /** What a host was sent. */
  sentTo(host: string): Received[] {
    return this.received.filter(({ url }) => new URL(url).hostname === host);
  }

  timeout(): AbortSignal {
    const controller = new AbortController();
    this.timeouts.push(controller);
    return controller.signal;
  }

  /** Lets 15 seconds pass in a moment, so that the requests that are under way by then have taken too long. */
  timeOutSoon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.advance(15_000);
      for (const controller of this.timeouts.splice(0)) controller.abort(new Error('The operation was aborted'));
    });
  }

  async fetch(url: string, options: RequestInit): Promise<Response> {
    this.requests.push({ url, options });
    const { hostname, searchParams } = new URL(url);
    if (hostname === 'cloudflare-dns.com') return this.resolve(searchParams);
    const receiver = this.hosts.get(hostname);
    if (!receiver) throw new TypeError('Network connection lost.');
    const received = { url, headers: new Headers(options.headers), body: String(options.body) };
    this.received.push(received);
    return receiver(received, options.signal as AbortSignal);
  }

  private resolve(query: URLSearchParams): Response | Promise<Response> {
    const [name, type] = [query.get('name') ?? '', query.get('type') ?? ''];
    if (this.resolver) return this.resolver(name, type);
    const addresses = this.addresses.get(name) ?? ['93.184.215.14'];
    const code = type === 'A' ? 1 : 28;
    const answers = addresses.filter((address) => address.includes(':') === (type === 'AAAA'));
    return Response.json({ Status: 0, Answer: answers.map((data) => ({ name, type: code, TTL: 60, data })) });
  }
}

/** Answers nothing: the messages that are under way together have to be given up. */
export function hang(internet: Internet): Receiver {
  return () => {
    internet.timeOutSoon();
    return new Promise(() => undefined);
  };
}

/** Answers with a status. */
export function answers(status: number, headers: Record<string, string> = {}): Receiver {
  return () => new Response(null, { status, headers });
}
