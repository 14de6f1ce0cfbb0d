import type { ChannelCreation, Permission, PolicyCreation } from '../../packages/client/api.ts';
import type { Countersign } from '../../packages/client/countersign.ts';
import { usePasskey } from './passkey.ts';
import type { Person } from './people.ts';

/** The policy by which people decide each payout. */
const POLICY: PolicyCreation = {
  name: 'Payouts need two people',
  effect: 'review',
  actions: ['payout.*'],
  resources: ['account:*'],
  priority: 100,
};

/** The channel that writes to the reviewers. Few requests are payouts, so it sends few mails. */
const CHANNEL: ChannelCreation = {
  kind: 'email',
  name: 'Mail about payouts',
  filter: { actions: ['payout.*'] },
};

/**
 * Makes all people decide payouts together, each with a passkey, and notifies them by e-mail.
 * Returns the name of the channel.
 */
export async function setUpReview(user: Countersign, people: Person[]): Promise<string> {
  const review = { approvals: people.length, members: people.map(({ id }) => id), passkey: true };
  const policies = await Array.fromAsync(user.listPolicies());
  const policy = policies.find(({ name }) => name === POLICY.name);
  if (policy) await user.updatePolicy(policy.id, { review });
  else await user.createPolicy({ ...POLICY, review });
  const channels = await Array.fromAsync(user.listChannels());
  if (!channels.some(({ name }) => name === CHANNEL.name)) await user.createChannel(CHANNEL);
  return CHANNEL.name;
}

/** Has an agent ask for the payout of an invoice. */
export function askForPayout(agent: Countersign, invoice: number): Promise<Permission> {
  const scope = { amount: invoice * 1_000, currency: 'EUR' };
  const to = `DE02 1203 0000 0000 2020 5${invoice}`;
  return agent.requestPermission({
    action: 'payout.send',
    resource: `account:supplier-${invoice}`,
    scope,
    input: { ...scope, to, purpose: `Invoice 2026-${invoice}` },
    preview: {
      title: `Pay invoice 2026-${invoice}`,
      fields: [
        { label: 'Amount', value: `${scope.amount} EUR`, kind: 'money' },
        { label: 'To', value: `Supplier ${invoice}` },
      ],
    },
    reason: 'The invoice is due',
  });
}

/** Approves with a signature by the person's passkey. */
export async function approve(
  origin: string,
  { api, passkey }: Person,
  { id }: Permission,
  fields: { reason: string; scope?: Record<string, unknown> },
): Promise<Permission> {
  const { statement, options } = await api.getStatement(id, { decision: 'approve', ...fields });
  const assertion = usePasskey(passkey, origin, options);
  return api.approvePermission(id, { ...fields, assertion, signed_at: statement.signed_at });
}
