import type { passkeys } from '../../db/schema';
import { Problem } from '../../errors';
import type { Context } from '../../http/context';
import { verifyAuthentication } from '../../identity/passkeys/webauthn';
import { requireNotStopped } from '../../ledger/stop';
import { toBase64Url } from '../../lib/bytes';
import type { Json, JsonObject } from '../../lib/json';
import { logFailure } from '../../lib/log';
import { hasRowMac, type RowContent, rowMac } from '../../lib/row-mac';
import type { Id } from '../../lib/typeid';
import { requirePending } from '../find-permission';
import { findWidenings } from '../find-widenings';
import type { ReviewedPermission } from '../permission';
import { findSeriesWidenings } from '../series/terms';
import type { Decision, DecisionState } from './decision';
import { decisionStatement, statementHash } from './decision-statement';
import type { Limits, Vote } from './review';

// Threat model: an attacker can write to the database, but does not have the root secret. A
// request, with how it is reviewed, and a vote are therefore trusted only with a MAC of the
// service, and a signed vote only with its signature, by a passkey with a MAC. What the MACs cover
// does not change while the request waits.

type Unstored = Omit<ReviewedPermission, 'mac'>;

/**
 * The content that the MAC of a permission covers: the request, and how it is reviewed, which may
 * be not at all.
 */
export function requestContent(account: Id<'user'>, row: Unstored): RowContent {
  const { id, agentId, action, resource, scope, reason, title, tokenTtl, maxUses, series, review } =
    row;
  return {
    table: 'permissions',
    label: 'request-mac',
    fields: {
      account,
      id,
      agent: agentId,
      action,
      resource,
      scope,
      reason,
      title,
      token_ttl: tokenTtl,
      max_uses: maxUses,
      series,
      connection: row.connectionId,
      input_digest: row.inputDigest,
      preview_digest: row.previewDigest,
      created_at: row.createdAt,
      expires_at: row.expiresAt,
      review: review && {
        policy: review.policyId,
        policy_updated_at: review.policyUpdatedAt,
        rule: review.rule as unknown as JsonObject,
        owner: review.owner,
        escalates_at: review.escalatesAt,
      },
    },
  };
}

/** The content that the MAC of a vote covers: all of it, and its place. */
function voteContent(
  account: Id<'user'>,
  permission: Id<'perm'>,
  vote: Omit<Vote, 'mac'>,
): RowContent {
  const { ordinal, by, decision, scope, tokenTtl, maxUses, series, reason, via, signature, at } =
    vote;
  return {
    table: 'votes',
    label: 'vote-mac',
    fields: {
      account,
      id: permission,
      ordinal,
      member: by,
      decision,
      scope,
      token_ttl: tokenTtl,
      max_uses: maxUses,
      series,
      reason,
      via,
      signature: signature as Json,
      at,
    },
  };
}

/** The permission with its MAC. */
export async function withRequestMac<R extends Unstored>(
  { config, principal }: Context,
  row: R,
): Promise<R & { mac: Uint8Array }> {
  return { ...row, mac: await rowMac(config.keyring, requestContent(principal.account.id, row)) };
}

/** The vote with its MAC. */
export async function withVoteMac(
  { config, principal }: Context,
  permission: Id<'perm'>,
  vote: Omit<Vote, 'mac'>,
): Promise<Vote> {
  return {
    ...vote,
    mac: await rowMac(config.keyring, voteContent(principal.account.id, permission, vote)),
  };
}

/**
 * Refuses to approve a permission that is not stored as the service stored it: another request or
 * another way of review, or a proposal with higher limits than the votes so far have left.
 * @throws Problem `conflict`
 */
async function requireGenuineRequest(
  { config, principal }: Context,
  row: ReviewedPermission,
): Promise<void> {
  const isRequest = await hasRowMac(
    config.keyring,
    requestContent(principal.account.id, row),
    row.mac,
  );
  if (isRequest && isProposalWithin(row)) return;
  throw new Problem(
    'conflict',
    'Nothing proves that the agent made the request as it is stored: somebody changed it in the database, or the ' +
      'service no longer has the secret of that time. It cannot be approved. Deny it, and let the agent ask again.',
  );
}

function isProposalWithin({ id, review, ...requested }: ReviewedPermission): boolean {
  if (!review) return true;
  const last = review.votes.findLast(({ decision }) => decision === 'approve');
  if (isWithin(review.proposal, last ?? requested)) return true;
  logFailure('row_not_genuine', 'a stored proposal is wider than the votes left it', {
    table: 'reviews',
    id,
  });
  return false;
}

function isWithin(limits: Limits, bounds: Limits): boolean {
  const isNarrow = limits.tokenTtl <= bounds.tokenTtl && limits.maxUses <= bounds.maxUses;
  if (!isNarrow || findWidenings(bounds.scope, limits.scope).length > 0) return false;
  const { series } = limits;
  return !series || findSeriesWidenings(bounds.series, series, 'proposed').length === 0;
}

type PasskeyRow = typeof passkeys.$inferSelect;

/**
 * The permission without the votes that no person is proven to have cast. A signed vote is proven
 * by its signature, an unsigned one by its MAC; where the rule asks for passkeys, an unsigned
 * approval is none.
 * @param voterPasskeys the passkeys of those who voted, removed ones too
 */
async function withGenuineVotes(
  context: Context,
  row: ReviewedPermission,
  voterPasskeys: readonly PasskeyRow[],
): Promise<ReviewedPermission> {
  const { review } = row;
  if (!review || review.votes.length === 0) return row;
  const checked = await Promise.all(
    review.votes.map((vote) => {
      if (!vote.signature) return isUnsignedGenuine(context, row, vote);
      return isSignatureGenuine(context, row, vote, voterPasskeys);
    }),
  );
  return {
    ...row,
    review: { ...review, votes: review.votes.filter((_, index) => checked[index]) },
  };
}

async function isUnsignedGenuine(
  { config, principal }: Context,
  row: ReviewedPermission,
  vote: Vote,
) {
  const content = voteContent(principal.account.id, row.id, vote);
  return (
    (await hasRowMac(config.keyring, content, vote.mac)) &&
    !(row.review?.rule.passkey && isApproval(vote))
  );
}

function isApproval({ decision }: Vote): boolean {
  return decision === 'approve';
}

async function isSignatureGenuine(
  context: Context,
  row: ReviewedPermission,
  vote: Vote,
  voterPasskeys: readonly PasskeyRow[],
): Promise<boolean> {
  const { config, principal } = context;
  if (!vote.signature) return false;
  const { credential_id: id, signed_at: signedAt, ...parts } = vote.signature;
  const passkey = voterPasskeys.find(
    (passkey) => passkey.member === vote.by && toBase64Url(passkey.id) === id,
  );
  const statement = decisionStatement(context, {
    row,
    member: vote.by,
    kind: vote.decision,
    reason: vote.reason,
    limits: vote,
    signedAt,
  });
  const response = {
    authenticatorData: parts.authenticator_data,
    clientDataJSON: parts.client_data_json,
    signature: parts.signature,
  };
  const assertion = {
    id,
    rawId: id,
    type: 'public-key' as const,
    response,
    clientExtensionResults: {},
  };
  const owned = passkey && { ...passkey, accountId: principal.account.id };
  // Only the signature counts: the counter of the passkey went on since the vote.
  const use =
    owned && (await verifyAuthentication(config, await statementHash(statement), assertion, owned));
  const isGenuine = Boolean(use);
  if (!isGenuine)
    logFailure('row_not_genuine', 'a vote is not signed by its member', {
      table: 'votes',
      id: row.id,
    });
  return isGenuine;
}

/**
 * Returns a loaded permission that waits for a decision, with the votes that people are proven to
 * have cast. An approval also needs the permission to be stored as the service stored it; a denial
 * grants nothing.
 * @throws Problem `not_found`, `not_pending`; `account_stopped` for an approval; `conflict` as
 *   {@link requireGenuineRequest}
 */
export async function readGenuine(
  context: Context,
  { permission, voterPasskeys }: Pick<DecisionState, 'permission' | 'voterPasskeys'>,
  { kind }: Pick<Decision, 'kind'>,
): Promise<ReviewedPermission> {
  const pending = requirePending(context, permission);
  if (kind === 'approve') requireNotStopped(context.principal.account);
  const row = await withGenuineVotes(context, pending, voterPasskeys);
  if (kind === 'approve') await requireGenuineRequest(context, row);
  return row;
}
