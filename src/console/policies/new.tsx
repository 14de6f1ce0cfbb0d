import { invalidRequest, notFound, Problem } from '../../errors';
import type { Reader, RequestContext } from '../../http/context';
import type { CallerSql } from '../../identity/credentials';
import { parseId } from '../../lib/typeid';
import { decidePermission } from '../../permissions/decide';
import { requirePermission } from '../../permissions/find-permission';
import { type ReviewedPermission, statusAt } from '../../permissions/permission';
import type { Decision } from '../../permissions/reviews/decision';
import {
  decidingContext,
  decisionState,
  selectDecision,
} from '../../permissions/reviews/preload-decision';
import { standingOf } from '../../permissions/reviews/voter';
import { createPolicy } from '../../policies/create';
import { evaluatePolicies } from '../../policies/evaluate';
import { type PolicyRow, selectActivePolicies } from '../../policies/policy';
import { draftPolicy } from '../../policies/replay';
import { readAddress, readForm, refusalOf } from '../frame/form';
import { sendPage } from '../frame/page';
import type { PreloadedContext } from '../session/access';
import { redirectWithFlash } from '../session/flash';
import { type Edited, Editor, loadEditor, readDays } from './editor';
import {
  hasWildcard,
  ignoresLimits,
  type Prospect,
  policyFromRequest,
  RequestNotice,
  RequestOptions,
  type SourceRequest,
} from './from-request';
import { draftOf, EMPTY_POLICY, type PolicyDraft, readValues, valuesOf } from './values';

/**
 * Preloads the form for a policy, with the request from which it is filled in: as for a
 * decision on it, because it may be approved too. The address names the request, and a form that
 * was sent names it again.
 */
export async function preloadSourceRequest(
  c: RequestContext,
  reader: Reader,
  { account, id: callerId }: CallerSql,
) {
  const { text } = c.req.method === 'POST' ? await readForm(c) : readAddress(c);
  return selectDecision(reader, {
    account,
    callerId,
    id: parseId('perm', text('permission')),
    assertion: undefined,
    now: c.var.runtime.now(),
  });
}

type NewPolicyContext = PreloadedContext<typeof preloadSourceRequest>;

/**
 * Shows the form for a new policy; filled in from a request if the address names one, with what it
 * would have done.
 */
export async function showNewPolicy(c: NewPolicyContext): Promise<Response> {
  const request = requestOf(c, c.req.query('permission') ?? '');
  if (!request) return sendEditor(c, null, { values: valuesOf(EMPTY_POLICY) });
  const values = valuesOf(policyFromRequest(request.row));
  const draft = hasWildcard(request.row) ? undefined : draftOf(values);
  return sendEditor(c, request, { values, draft, approves: request.mayApprove });
}

/**
 * Adds a row, tries the policy on past requests, or creates it, and then approves the request if
 * that was checked.
 */
export async function makePolicy(c: NewPolicyContext): Promise<Response> {
  const form = await readForm(c);
  const request = requestOf(c, form.text('permission'));
  const values = readValues(form);
  const edited = {
    values,
    days: readDays(form),
    approves: form.has('approve'),
    acceptsAnyLimits: form.has('any_limits'),
  };
  if (form.text('do') === 'add') return sendEditor(c, request, { ...edited, hasNewRow: true });
  try {
    const draft = draftOf(values);
    if (form.text('do') !== 'save') return await sendEditor(c, request, { ...edited, draft });
    if (request && !edited.acceptsAnyLimits) requireConditions(draft);
    const isApproval = edited.approves && request !== null;
    if (isApproval) requireMayApprove(c);
    const { id } = await c.var.once((context) => createPolicy(context, draft));
    if (isApproval) return await approve(c, id);
    return redirectWithFlash(c, '/console/policies', 'created');
  } catch (error) {
    return sendEditor(c, request, { ...edited, refusal: refusalOf(error) });
  }
}

/** @throws Problem `invalid_request` if the policy approves requests whatever their limits are */
function requireConditions(draft: PolicyDraft): void {
  if (!ignoresLimits(draft)) return;
  throw invalidRequest([
    { path: 'body.any_limits', message: 'check this, or write conditions on the limits' },
  ]);
}

function requireMayApprove(c: NewPolicyContext): void {
  if (c.var.signedIn.context.principal.scopes.includes('permissions:decide')) return;
  throw new Problem(
    'insufficient_scope',
    'Your session may not approve requests. Save the policy alone.',
  );
}

/** The request from which a policy is made; null if the form or address names none. */
function requestOf(c: NewPolicyContext, text: string): SourceRequest | null {
  if (text === '') return null;
  const { principal, runtime } = c.var.signedIn.context;
  if (!principal.scopes.includes('permissions:read')) throw notFound('permission');
  const { permission, voter } = decisionState(c.var.loaded);
  const row = requirePermission(principal, permission);
  const isPending = statusAt(row, runtime.now()) === 'pending';
  const standing = standingOf(row.review, voter, principal.member?.id);
  const mayDecide =
    principal.scopes.includes('permissions:decide') && isPending && standing === 'may_decide';
  return { row, isPending, mayApprove: mayDecide && row.review?.rule.passkey !== true };
}

/**
 * Approves the request as it was asked for, and shows the result; if it is refused, the policy's
 * page.
 */
async function approve(c: NewPolicyContext, policy: string): Promise<Response> {
  const decision: Decision = { kind: 'approve', narrowed: {}, reason: null, via: 'console' };
  const state = decisionState(c.var.loaded);
  try {
    await decidePermission(
      decidingContext(c.var.signedIn.context, c.var.reload, decision, {}),
      state,
      decision,
    );
    return redirectWithFlash(c, `/console/permissions/${state.permission?.id}`, 'approval');
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // The form was sent twice, and approved the request the first time.
    const decided = decisionState(await c.var.reload()).permission;
    const { member } = c.var.signedIn.context.principal;
    if (decided?.status === 'approved' && member && decided.decidedBy === member.id) {
      return redirectWithFlash(c, `/console/permissions/${decided.id}`, 'approval');
    }
    const query = new URLSearchParams({
      permission: state.permission?.id ?? '',
      refused: error.code,
    });
    return redirectWithFlash(c, `/console/policies/${policy}?${query}`, 'created');
  }
}

async function sendEditor(
  c: NewPolicyContext,
  request: SourceRequest | null,
  edited: Edited & { approves?: boolean; acceptsAnyLimits?: boolean },
): Promise<Response> {
  const { context } = c.var.signedIn;
  const { draft, approves = false, acceptsAnyLimits = false, refusal } = edited;
  const { principal, reader, runtime } = context;
  const loadProspect = async () => {
    if (!request || !draft) return null;
    const [policies] = await reader.load([selectActivePolicies(principal.account.number)]);
    const weighed = [draftPolicy(context, draft), ...policies] as const;
    return prospectOf(weighed, request.row, runtime.now());
  };
  const [contents, prospect] = await Promise.all([loadEditor(context, edited), loadProspect()]);
  return sendPage(c, {
    title: 'New policy',
    names: contents.names,
    status: refusal?.status,
    children: (
      <>
        {request && <RequestNotice request={request} />}
        <Editor edited={edited} contents={contents} action="/console/policies/new" isNew>
          {request && (
            <RequestOptions
              request={request}
              prospect={prospect}
              approves={approves}
              acceptsAnyLimits={acceptsAnyLimits}
            />
          )}
        </Editor>
      </>
    ),
  });
}

/** @param weighed the new policy, and the active ones */
function prospectOf(
  weighed: readonly [PolicyRow, ...PolicyRow[]],
  row: ReviewedPermission,
  now: number,
): Prospect {
  const [draft] = weighed;
  const { policy, matched } = evaluatePolicies(weighed, row, now);
  return { policy, isNewPolicy: policy === draft, applies: matched.includes(draft.id) };
}
