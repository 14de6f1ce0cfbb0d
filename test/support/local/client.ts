import { Agent, type IncomingMessage, request } from 'node:http';

/** The database cost of an answer, as D1 counts it. */
export interface Cost {
  trips: number;
  read: number;
  written: number;
}

/** The cost of one statement; only the metered worker reports it. */
export interface StatementCost {
  sql: string;
  read: number;
  written: number;
  /** Rows of the table itself that it inserted, updated or deleted. */
  changes: number;
}

export interface Answer<T> {
  status: number;
  cost: Cost;
  statements: StatementCost[];
  body: T;
}

/** Calls the service with one credential. */
export class Client {
  /** The largest number of round trips of any call of any client so far, and that call. */
  static worstTrips = { trips: 0, calls: 0, call: '' };
  private static readonly connections = new Agent({ keepAlive: true });

  private readonly origin: string;
  private readonly credential: string;

  constructor(origin: string, credential: string) {
    this.origin = origin;
    this.credential = credential;
  }

  get<T>(path: string, parameters: Record<string, string | number> = {}): Promise<Answer<T>> {
    const search = new URLSearchParams(
      Object.entries(parameters).map(([name, value]) => [name, String(value)]),
    );
    return this.call('GET', search.size === 0 ? path : `${path}?${search}`);
  }

  /**
   * Calls the service and throws for another status, so that a benchmark never measures a failure
   * by mistake.
   */
  async expect<T>(
    status: number,
    method: string,
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<Answer<T>> {
    const answer = await this.call<T>(method, path, body, headers);
    if (answer.status !== status) {
      throw new Error(
        `${method} ${path}: ${answer.status} instead of ${status}: ${JSON.stringify(answer.body)}`,
      );
    }
    return answer;
  }

  call<T>(
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> {
    const payload = body && JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const outgoing = request(
        `${this.origin}${path}`,
        {
          method,
          agent: Client.connections,
          headers: {
            Authorization: `Bearer ${this.credential}`,
            'User-Agent': 'countersign-bench',
            ...headers,
            ...(payload && {
              'Content-Type': 'application/json',
              'Content-Length': Buffer.byteLength(payload),
            }),
          },
        },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.on('error', reject);
          incoming.on('end', () => {
            try {
              resolve(
                this.read<T>(`${method} ${path}`, incoming, Buffer.concat(chunks).toString()),
              );
            } catch (error) {
              reject(error);
            }
          });
        },
      );
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        // The service has closed the connection meanwhile, as it does after some idle seconds.
        const isStale = outgoing.reusedSocket && error.code === 'ECONNRESET';
        if (isStale && method === 'GET') resolve(this.call<T>(method, path, body, headers));
        else reject(error);
      });
      outgoing.end(payload);
    });
  }

  private read<T>(call: string, { statusCode, headers }: IncomingMessage, text: string): Answer<T> {
    const cost = readCost(headers['server-timing']);
    this.note(call, cost.trips);
    return {
      status: statusCode ?? 0,
      cost,
      statements: JSON.parse(String(headers['x-statements'] ?? '[]')) as StatementCost[],
      body: (text === '' ? undefined : JSON.parse(text)) as T,
    };
  }

  private note(call: string, trips: number): void {
    const worst = Client.worstTrips;
    worst.calls += 1;
    if (trips > worst.trips) Object.assign(worst, { trips, call });
  }
}

function readCost(header: string | string[] | undefined): Cost {
  const match = /trips=(\d+) read=(\d+) written=(\d+)/.exec(String(header));
  if (!match) throw new Error(`no cost in Server-Timing: ${header}`);
  return { trips: Number(match[1]), read: Number(match[2]), written: Number(match[3]) };
}
