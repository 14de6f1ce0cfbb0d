import { sha256, toBase64Url, utf8 } from './bytes.ts';
import { canonicalJson, type Json, type JsonObject } from './json.ts';
import type { RequestedPermission, Settlement } from './settlement.ts';
import type { Vote, VoteSignature } from './vote.ts';

/**
 * Rebuilds what a member signed, the statement of the decision.
 * @param scope the scope of the vote
 * @param request the entry of the request, if it is known
 * @returns null if the statement cannot be known: an expiry repeats no digests, so it needs the
 *   request
 */
export function rebuildStatement(
  { entry, details }: Settlement,
  vote: Vote & { signature: VoteSignature },
  {
    scope,
    request,
    origin,
  }: { scope: JsonObject; request: RequestedPermission | null; origin: string },
): JsonObject | null {
  const digests = details.input_digest === undefined ? request?.details : details;
  if (!digests) return null;
  const statement: Record<string, Json | undefined> = {
    type: 'countersign/decision/v1',
    origin,
    account_id: entry.user_id,
    member_id: vote.by,
    permission_id: entry.permission_request_id,
    agent_id: entry.agent_id,
    decision: vote.decision,
    action: details.action,
    resource: details.resource,
    scope,
    token_ttl: vote.tokenTtl,
    max_uses: vote.maxUses,
    ...(vote.series && { series: { ...vote.series } }),
    input_digest: digests.input_digest ?? null,
    preview_digest: digests.preview_digest ?? null,
    reason: vote.reason,
    signed_at: vote.signature.signed_at,
  };
  return statement as JsonObject;
}

/**
 * The challenge that a passkey signs in place of the statement: the SHA-256 of its canonical form
 * (RFC 8785), in base64url.
 * @throws SyntaxError if it has none
 */
export async function challengeOf(statement: JsonObject): Promise<string> {
  return toBase64Url(await sha256(utf8(canonicalStatement(statement))));
}

function canonicalStatement(statement: JsonObject): string {
  try {
    return canonicalJson(statement);
  } catch (error) {
    throw new SyntaxError(`its entry has no canonical JSON: ${(error as Error).message}`);
  }
}
