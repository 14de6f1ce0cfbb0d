import { invalidRequest, Problem } from '../../errors';
import type { Reader, RequestContext } from '../../http/context';
import type { CallerSql } from '../../identity/credentials';
import { parseId } from '../../lib/typeid';
import { Approval } from '../../permissions/approve';
import { decidePermission } from '../../permissions/decide';
import { Denial } from '../../permissions/deny';
import { type preloadPermission, requirePermission } from '../../permissions/find-permission';
import { proposedLimits } from '../../permissions/limits';
import type { Permission, ReviewedPermission } from '../../permissions/permission';
import { reloadCard } from '../../permissions/preload-card';
import type { Decision } from '../../permissions/reviews/decision';
import {
  decidingContext,
  decisionState,
  selectDecision,
} from '../../permissions/reviews/preload-decision';
import { countVotes } from '../../permissions/reviews/review';
import { getStatement, selectSigningPasskeys } from '../../permissions/reviews/statement';
import { revokeToken } from '../../permissions/tokens/revoke';
import { readForm, refusalOf, type SentForm, validate } from '../frame/form';
import { readSeries } from '../series/series-fields';
import type { PreloadedContext } from '../session/access';
import { type FlashKind, redirectWithFlash } from '../session/flash';
import { sendCard } from './card';
import { findLimitFaults, readLimits } from './limits-fields';
import { agentOfInbox, cardAddress, goToNext } from './next-request';

/**
 * Preloads what a form's decision depends on: as `preloadDecision`, for a form instead of a JSON
 * body.
 */
export async function preloadFormDecision(
  c: RequestContext,
  reader: Reader,
  { account, id: callerId }: CallerSql,
) {
  const form = await readForm(c);
  const key = {
    account,
    callerId,
    id: parseId('perm', c.req.param('id') ?? ''),
    now: c.var.runtime.now(),
  };
  return selectDecision(reader, { ...key, assertion: readAssertion(form) });
}

/** Preloads what a statement needs: the same, and the member's passkeys. */
export async function preloadFormStatement(c: RequestContext, reader: Reader, caller: CallerSql) {
  const state = await preloadFormDecision(c, reader, caller);
  return { ...state, passkeys: selectSigningPasskeys(reader, caller.account, caller.id) };
}

type DecisionContext = PreloadedContext<typeof preloadFormDecision>;
type StatementContext = PreloadedContext<typeof preloadFormStatement>;

/**
 * Approves or denies as the form of the decision card says. If that is refused, shows the card
 * again and why.
 */
export async function decide(c: DecisionContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const { loaded, reload } = c.var;
  const form = await readForm(c);
  const row = requirePermission(context.principal, loaded.permission?.[0]);
  try {
    const { decision, signed } = readDecision(form, row);
    const decided = await decidePermission(
      decidingContext(context, reload, decision, signed),
      decisionState(loaded),
      decision,
    );
    if (c.req.query('queue') !== undefined)
      return goToNext(c, decided, settledBy(decided) ?? flashKindOf(decision));
    return redirectWithFlash(c, cardAddress(row.id, agentOfInbox(c)), flashKindOf(decision));
  } catch (error) {
    return sendCard(c, await reloadCard(c, context), { refusal: refusalOf(error), form });
  }
}

/** How a decision settled the request; null if more decisions are needed. */
function settledBy({ status }: Permission): FlashKind | null {
  return status === 'approved' || status === 'denied' ? status : null;
}

function flashKindOf({ kind }: Decision): FlashKind {
  return kind === 'approve' ? 'approval' : 'denial';
}

/** Revokes the token of the permission in the path. */
export async function revoke(c: PreloadedContext<typeof preloadPermission>): Promise<Response> {
  const { context } = c.var.signedIn;
  const row = requirePermission(context.principal, c.var.loaded.permission?.[0]);
  await revokeToken(context, { permission: row, via: 'console' });
  return redirectWithFlash(c, `/console/permissions/${row.id}`, 'revoked');
}

/**
 * Answers the page's script with what the passkey has to sign for the decision that the form says.
 * Writes nothing.
 */
export async function sendStatement(c: StatementContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const { loaded } = c.var;
  const { decision } = readDecision(
    await readForm(c),
    requirePermission(context.principal, loaded.permission?.[0]),
  );
  const passkeys = (loaded.passkeys ?? []).map(({ id }) => id);
  const { statement, options } = await getStatement(
    context,
    { ...decisionState(loaded), passkeys },
    decision,
  );
  return c.json({ options, signed_at: statement.signed_at });
}

/** Reads a decision with the schemas of the API. */
function readDecision(form: SentForm, row: ReviewedPermission) {
  const kind = form.text('decision');
  if (kind !== 'approve' && kind !== 'deny') {
    throw invalidRequest([{ path: 'body.decision', message: 'must be approve or deny' }]);
  }
  const signature = form.text('assertion') !== '' && {
    assertion: readAssertion(form),
    signed_at: form.text('signed_at'),
  };
  const shared = { reason: form.text('reason'), ...signature };
  const isApproval = kind === 'approve';
  if (isApproval) requireSameProposal(form, row);
  const proposal = proposedLimits(row);
  const limits = isApproval ? { ...readLimits(form, proposal), ...readSeries(form, row) } : {};
  const faults = isApproval ? findLimitFaults(form, proposal.scope) : [];
  const { reason, assertion, signed_at, ...narrowed } = validate(
    isApproval ? Approval() : Denial(),
    { ...shared, ...limits },
    faults,
  );
  const decision: Decision = { kind, narrowed, reason: reason || null, via: 'console' };
  return { decision, signed: { assertion, signed_at } };
}

/**
 * Refuses a form that was loaded before the last vote: it shows limits that this vote may have
 * narrowed.
 * @throws Problem `conflict` if somebody has voted since
 */
function requireSameProposal(form: SentForm, row: ReviewedPermission): void {
  if (Number(form.text('votes')) === countVotes(row)) return;
  throw new Problem(
    'conflict',
    'Somebody voted after you opened the request. Check the limits that are left now, then decide again.',
  );
}

function readAssertion(form: SentForm): unknown {
  try {
    return JSON.parse(form.text('assertion'));
  } catch {
    return undefined;
  }
}
