import type { AuditEntry, KeySet } from '../../api.ts';
import type { CliClient } from '../client.ts';
import { checkProof, ProofFault } from './check-proof.ts';

/**
 * Checks that an approval by people has as many votes as its request asked for, signed ones where
 * it asked for passkeys. The entry of the request is proven first. It says nothing of entries of
 * other events, and of approvals whose request is no longer kept. The signatures themselves are not
 * verified.
 * @throws ProofFault
 */
export async function checkReview(
  client: CliClient,
  entry: AuditEntry,
  keys: KeySet,
): Promise<void> {
  const { event_type, permission_request_id, details } = entry;
  if (event_type !== 'approve' || details.policy_id !== null) return;
  const query = { permission_id: permission_request_id, event_type: 'request', limit: 1 } as const;
  const [request] = (await client.listAuditEntries(query)).data;
  if (!request?.details.review) return;
  try {
    await checkProof(request.id, request, await client.proveInclusion(request.id), keys);
  } catch (error) {
    if (!(error instanceof ProofFault)) throw error;
    throw new ProofFault(`the entry of its request is not proven: ${error.message}`);
  }
  const { approvals, passkey } = request.details.review;
  const voters = new Set<string>();
  for (const { by, decision, signature } of details.votes ?? []) {
    if (decision === 'approve' && (signature || !passkey)) voters.add(by);
  }
  if (voters.size >= approvals) return;
  const kind = passkey ? 'signed approvals' : 'approvals';
  throw new ProofFault(`its request asked for ${approvals} ${kind}, and it has ${voters.size}`);
}
