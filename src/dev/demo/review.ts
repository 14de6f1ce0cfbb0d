import type { Api, ApiAnswer, ProblemDocument } from '../api.ts';
import { usePasskey } from './passkey.ts';
import { findPeople, type Person } from './people.ts';
import type { Actor, Permission } from './types.ts';

/** The policy by which two people decide each payout. */
const POLICY = {
  name: 'Payouts need two people',
  effect: 'review',
  actions: ['payout.*'],
  resources: ['account:*'],
  priority: 100,
};

/** What happened to the payouts of the demo. */
export interface Reviewed {
  people: Person[];
  paid: Permission;
  /** A payout with one approval, which waits for a second one. */
  waiting: Permission;
  /** The answer to the account's own token, which names no person. */
  refused: ApiAnswer<ProblemDocument>;
}

/** Has an agent ask for two payouts. Two people approve the first one, each signed with a passkey, and one the second. */
export async function playReview(origin: string, user: Api, { api }: Actor): Promise<Reviewed> {
  const people = await findPeople(origin, user);
  await ensurePolicy(user, people);
  const first = await askForPayout(api, 1);
  const refused = await user.ask<ProblemDocument>('POST', `/v1/permissions/${first.id}/approve`, {});
  let paid = first;
  const [ada, grace] = people;
  if (ada) paid = await approve(ada, origin, first, { scope: { amount: 900, currency: 'EUR' }, reason: 'As invoiced' });
  if (grace) paid = await approve(grace, origin, first, { reason: 'Checked against the order' });
  const second = await askForPayout(api, 2);
  const waiting = ada ? await approve(ada, origin, second, { reason: 'As invoiced' }) : second;
  return { people, paid, waiting, refused };
}

async function ensurePolicy(user: Api, people: Person[]): Promise<void> {
  const review = { approvals: people.length, members: people.map(({ id }) => id), passkey: true };
  for await (const { id, name } of user.list<{ id: string; name: string }>('/v1/policies')) {
    if (name === POLICY.name) return void (await user.call('PUT', `/v1/policies/${id}`, { review }));
  }
  await user.call('POST', '/v1/policies', { ...POLICY, review });
}

function askForPayout(agent: Api, number: number): Promise<Permission> {
  const [amount, currency] = [number * 1_000, 'EUR'];
  return agent.call<Permission>('POST', '/v1/permissions', {
    action: 'payout.send',
    resource: `account:supplier-${number}`,
    scope: { amount, currency },
    input: { to: `DE02 1203 0000 0000 2020 5${number}`, amount, currency, purpose: `Invoice 2026-${number}` },
    preview: {
      title: `Pay invoice 2026-${number}`,
      fields: [
        { label: 'Amount', value: `${amount} ${currency}`, kind: 'money' },
        { label: 'To', value: `Supplier ${number}` },
      ],
    },
    reason: 'The invoice is due',
  });
}

/** Approves with a signature by the person's passkey. */
async function approve(
  { api, passkey }: Person,
  origin: string,
  { id }: Permission,
  fields: object,
): Promise<Permission> {
  const { statement, options } = await api.call<{
    statement: { signed_at: string };
    options: { challenge: string; rpId: string };
  }>('POST', `/v1/permissions/${id}/statement`, { decision: 'approve', ...fields });
  const assertion = usePasskey(passkey, origin, options);
  return api.call('POST', `/v1/permissions/${id}/approve`, { ...fields, assertion, signed_at: statement.signed_at });
}
