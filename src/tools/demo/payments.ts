import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** The key that the stand-in accepts. No agent of the demo has it. */
export const PAYMENTS_KEY = 'sk_demo_2yuJ8Wv6hN0rQe4T';

/** The port of the stand-in in the guide "Let Countersign hold the key". */
export const PAYMENTS_PORT = 8790;

/** A running stand-in for a payment service. */
export interface Payments {
  origin: string;
  close(): void;
}

interface Answer {
  status: number;
  body: object;
}

/**
 * Starts a stand-in for a payment service on this machine: `GET /v1/balance` and `POST
 * /v1/payouts`, for callers with {@link PAYMENTS_KEY}.
 * @param tell called with a line about each call
 */
export async function startPayments(
  port: number,
  tell: (line: string) => void = () => {},
): Promise<Payments> {
  const account = { balance: 10_000 };
  const server = createServer(async (request, response) => {
    const { status, body } = await answerCall(request, account);
    tell(`${request.method} ${request.url} → ${status}`);
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(body));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: taken } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${taken}`, close: () => server.close() };
}

async function answerCall(request: IncomingMessage, account: { balance: number }): Promise<Answer> {
  if (request.headers.authorization !== `Bearer ${PAYMENTS_KEY}`)
    return { status: 401, body: { error: 'Send the key of the payment service.' } };
  switch (`${request.method} ${request.url}`) {
    case 'GET /v1/balance':
      return { status: 200, body: { available: account.balance, currency: 'EUR' } };
    case 'POST /v1/payouts':
      return payOut(await readPayout(request), account);
    default:
      return { status: 404, body: { error: 'There is nothing at this path.' } };
  }
}

interface Payout {
  to: unknown;
  amount: number;
}

async function readPayout(request: IncomingMessage): Promise<Payout | null> {
  try {
    const body = (await json(request)) as Partial<Payout> | null;
    const amount = Number(body?.amount);
    return amount > 0 ? { to: body?.to ?? null, amount } : null;
  } catch {
    return null;
  }
}

function payOut(payout: Payout | null, account: { balance: number }): Answer {
  if (payout === null) return { status: 400, body: { error: 'Name an amount.' } };
  if (payout.amount > account.balance)
    return { status: 402, body: { error: 'The balance is too low.' } };
  account.balance -= payout.amount;
  return { status: 201, body: { id: `po_${randomUUID()}`, ...payout, currency: 'EUR' } };
}
