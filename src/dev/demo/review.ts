import type { AuthenticationResponse, Permission } from '../../client/api.ts';
import type { Countersign } from '../../client/countersign.ts';
import type { ApiError } from '../../client/errors.ts';
import { refusalOf } from '../api.ts';
import { usePasskey } from './passkey.ts';
import { findPeople, type Person } from './people.ts';
import type { Actor } from './types.ts';

/** The policy by which two people decide each payout. */
const POLICY = {
  name: 'Payouts need two people',
  effect: 'review' as const,
  actions: ['payout.*'],
  resources: ['account:*'],
  priority: 100,
};

/** What happened to the payouts of the demo. */
interface Reviewed {
  people: Person[];
  paid: Permission;
  /** A payout with one approval, which waits for a second one. */
  waiting: Permission;
  /** The refusal of the account's own token, which names no person. */
  refused: ApiError;
}

/**
 * Has an agent ask for two payouts. Two people approve the first one, each signed with a passkey,
 * and one the second.
 */
export async function playReview(
  origin: string,
  user: Countersign,
  { api }: Actor,
): Promise<Reviewed> {
  const people = await findPeople(origin, user);
  await ensurePolicy(user, people);
  const first = await askForPayout(api, 1);
  const refused = await refusalOf(user.approvePermission(first.id));
  let paid = first;
  const [ada, grace] = people;
  if (ada)
    paid = await approve(ada, origin, first, {
      scope: { amount: 900, currency: 'EUR' },
      reason: 'As invoiced',
    });
  if (grace) paid = await approve(grace, origin, first, { reason: 'Checked against the order' });
  const second = await askForPayout(api, 2);
  const waiting = ada ? await approve(ada, origin, second, { reason: 'As invoiced' }) : second;
  return { people, paid, waiting, refused };
}

async function ensurePolicy(user: Countersign, people: Person[]): Promise<void> {
  const review = { approvals: people.length, members: people.map(({ id }) => id), passkey: true };
  for await (const { id, name } of user.listPolicies()) {
    if (name === POLICY.name) return void (await user.updatePolicy(id, { review }));
  }
  await user.createPolicy({ ...POLICY, review });
}

function askForPayout(agent: Countersign, number: number): Promise<Permission> {
  const [amount, currency] = [number * 1_000, 'EUR'];
  return agent.requestPermission({
    action: 'payout.send',
    resource: `account:supplier-${number}`,
    scope: { amount, currency },
    input: {
      to: `DE02 1203 0000 0000 2020 5${number}`,
      amount,
      currency,
      purpose: `Invoice 2026-${number}`,
    },
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
  fields: { reason: string; scope?: Record<string, unknown> },
): Promise<Permission> {
  const { statement, options } = await api.getStatement(id, { decision: 'approve', ...fields });
  const assertion = usePasskey(passkey, origin, options) as AuthenticationResponse;
  return api.approvePermission(id, { ...fields, assertion, signed_at: statement.signed_at });
}
