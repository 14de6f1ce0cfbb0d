import type { Permission, PolicyCreation } from '../../packages/client/api.ts';
import type { Countersign } from '../../packages/client/countersign.ts';

const MOST_A_DAY = 3;

/** A policy that approves small vouchers, a few a day. */
const POLICY: PolicyCreation = {
  name: 'Small vouchers, within a budget',
  effect: 'approve',
  actions: ['voucher.issue'],
  resources: ['customer:*'],
  conditions: { amount: { max: 50 }, currency: { in: ['EUR'] } },
  budget: { per: 'day', requests: MOST_A_DAY, sum: { key: 'amount', max: 120 } },
};

/** The requests of an agent, and the share of its budget that the policy has then used. */
interface Spending {
  requests: Permission[];
  usage: string;
}

/**
 * Has an agent ask for one voucher more than the budget of a new policy has room for. A policy that
 * an earlier demo left is deleted.
 */
export async function spendBudget(user: Countersign, agent: Countersign): Promise<Spending> {
  for await (const { id, name } of user.listPolicies())
    if (name === POLICY.name) await user.deletePolicy(id);
  const { id } = await user.createPolicy(POLICY);
  const requests: Permission[] = [];
  for (let customer = 1; customer <= MOST_A_DAY + 1; customer++) {
    const request = await agent.requestPermission({
      action: 'voucher.issue',
      resource: `customer:${customer}`,
      scope: { amount: 39.9, currency: 'EUR' },
      reason: 'An apology for the late parcel',
    });
    requests.push(request);
  }
  const { usage } = await user.getPolicy(id);
  return { requests, usage: `${usage?.requests} vouchers, ${usage?.sum} EUR` };
}
