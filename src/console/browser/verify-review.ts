import type { Finding } from './verify-finding';
import type { VoteEntry } from './verify-vote';

/**
 * Checks that an approval has as many votes as its request asked for, signed ones where it asked
 * for passkeys.
 * @param request the entry of the request, which is proven to be in the log
 */
export function checkReview({ details }: VoteEntry, { details: { review } }: VoteEntry): Finding {
  if (!review) {
    return {
      state: 'passed',
      text: 'No review policy applied: one person with the right to decide was enough.',
    };
  }
  const { approvals, passkey } = review;
  const approved = (details.votes ?? []).filter(({ decision }) => decision === 'approve');
  const counted = passkey ? approved.filter(({ signature }) => signature) : approved;
  const voters = new Set(counted.map(({ by }) => by)).size;
  const kind = passkey ? 'signed approvals' : 'approvals';
  const text = `The request asked for ${approvals} ${kind}, and the entry has ${voters}.`;
  return { state: voters >= approvals ? 'passed' : 'failed', text };
}
