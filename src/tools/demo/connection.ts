import type { Connection } from '../../packages/client/api.ts';
import type { Countersign } from '../../packages/client/countersign.ts';
import { PAYMENTS_KEY, startPayments } from './payments.ts';

/** The calls of an agent through a connection. */
interface Calls {
  connection: Connection;
  /** The statuses of a read, and of the payout before and after it was approved. */
  read: number;
  before: number;
  after: number;
  /** The permission by which the payout was sent. */
  permission: string;
  /** The status of a call that no rule allows. */
  refused: number;
}

/**
 * Has an agent use a payment service whose key it does not hold: it reads at once, pays when a
 * person has approved, and can do nothing else.
 * @param key the key of the agent
 */
export async function playConnection(
  origin: string,
  user: Countersign,
  agent: { id: string; key: string },
): Promise<Calls> {
  const payments = await startPayments(0);
  try {
    const connection = await user.createConnection({
      name: 'Payments',
      slug: `payments-${agent.id.slice(-6)}`,
      base_url: payments.origin,
      auth: { type: 'header' },
      secret: PAYMENTS_KEY,
      rules: [
        { methods: ['GET'], effect: 'allow' },
        {
          methods: ['POST'],
          paths: ['/v1/payouts'],
          effect: 'ask',
          action: 'payout.send',
          scope: { amount: '{amount}' },
          title: 'Pay {amount} EUR to {to}',
        },
      ],
      agent_ids: [agent.id],
      wait: 0,
    });
    const call = (method: string, path: string, body?: object) =>
      fetch(`${origin}/v1/connections/${connection.id}/proxy${path}`, {
        method,
        headers: { Authorization: `Bearer ${agent.key}`, 'Content-Type': 'application/json' },
        body: body ? JSON.stringify(body) : null,
      });
    const payout = { to: 'supplier-17', amount: 250 };
    const read = await call('GET', '/v1/balance');
    const before = await call('POST', '/v1/payouts', payout);
    const { permission_id } = (await before.json()) as { permission_id: string };
    await user.approvePermission(permission_id, { reason: 'As invoiced' });
    const after = await call('POST', '/v1/payouts', payout);
    const refused = await call('DELETE', '/v1/payouts');
    return {
      connection,
      ...{ read: read.status, before: before.status, after: after.status },
      permission: permission_id,
      refused: refused.status,
    };
  } finally {
    payments.close();
  }
}
