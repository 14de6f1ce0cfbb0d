import type { OutcomeReport, Permission } from '../../packages/client/api.ts';
import type { Countersign } from '../../packages/client/countersign.ts';

/** The refunds of the scene, and what the agent says of each; null if it never says anything. */
const REFUNDS: { order: string; outcome: OutcomeReport | null }[] = [
  { order: '20481', outcome: { status: 'succeeded', summary: 'Booked by the bank' } },
  { order: '20482', outcome: { status: 'failed', summary: 'The card was closed in the meantime' } },
  { order: '20483', outcome: { status: 'unknown', summary: 'The bank did not answer in time' } },
  { order: '20484', outcome: null },
];

/**
 * Has an agent refund orders and report what happened. Returns the permissions as they are then.
 */
export async function playOutcomes(user: Countersign, agent: Countersign): Promise<Permission[]> {
  const permissions: Permission[] = [];
  for (const { order, outcome } of REFUNDS) {
    const asked = await agent.requestPermission({
      action: 'refund.issue',
      resource: `order:${order}`,
      scope: { max_amount: 40, currency: 'EUR' },
      preview: { title: `Refund order ${order}` },
      reports_outcome: true,
    });
    await user.approvePermission(asked.id, { reason: 'The parcel came back' });
    const { token } = await agent.getPermission(asked.id);
    await agent.useToken({ token: token?.value ?? '' });
    if (outcome) await agent.reportOutcome(asked.id, outcome);
    permissions.push(await agent.getPermission(asked.id));
  }
  return permissions;
}
