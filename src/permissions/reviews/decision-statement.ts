import canonicalize from 'canonicalize';
import type { Context } from '../../http/context';
import { sha256 } from '../../lib/bytes';
import type { Id } from '../../lib/typeid';
import type { ReviewedPermission } from '../permission';
import type { Limits, VoteDecision } from './review';

/** A decision that a member signs. */
interface SignedDecision {
  row: ReviewedPermission;
  member: Id<'member'>;
  kind: VoteDecision;
  reason: string | null;
  limits: Limits;
  signedAt: string;
}

/**
 * The statement that a member signs: the decision with everything that it is about. The challenge
 * of the signature is the SHA-256 of its canonical form (RFC 8785).
 */
export function decisionStatement(
  { config, principal }: Context,
  { row, member, kind, reason, limits, signedAt }: SignedDecision,
) {
  const { scope, tokenTtl, maxUses, series } = limits;
  return {
    type: 'countersign/decision/v1',
    origin: config.publicUrl,
    account_id: principal.account.id,
    member_id: member,
    permission_id: row.id,
    agent_id: row.agentId,
    decision: kind,
    action: row.action,
    resource: row.resource,
    scope,
    token_ttl: tokenTtl,
    max_uses: maxUses,
    ...(series && { series }),
    input_digest: row.inputDigest,
    preview_digest: row.previewDigest,
    reason,
    signed_at: signedAt,
  };
}

export function statementHash(statement: object): Promise<Uint8Array> {
  return sha256(canonicalize(statement) as string);
}
