import { connectionCalls } from '../../db/schema';
import { type AgentContext, newId } from '../../http/context';
import type { Id } from '../../lib/typeid';
import { describeAct } from '../../permissions/contents';
import { awaitOutcome } from '../../permissions/outcomes/outcome';
import type { DraftRequest, RequestInput } from '../../permissions/requests/permission-request';
import type { Ruling } from '../../permissions/requests/ruling';
import { storeRequest } from '../../permissions/requests/store';
import { type Rules, weighRequest } from '../../permissions/requests/weigh';
import { requireSeriesFits } from '../../permissions/series/terms';
import { draftUse } from '../../permissions/tokens/count-use';
import type { ConnectionRow } from '../connection';
import type { AskMatch } from '../rules/match-rule';
import { type CallLookup, newCallGuard } from './earlier-calls';
import { connectionGuard } from './guards';
import { EXPIRES_IN, TOKEN_TTL } from './limits';
import { isOutdated } from './outdated';
import type { ParsedCall } from './parse-call';
import { denied } from './standing';
import { type UsedPermission, untilCertain } from './use-mark';

/** The request for a call. A call always has an input, so its digest is certain. */
export interface CallDraft extends DraftRequest {
  act: DraftRequest['act'] & { inputDigest: string };
}

/** Drafts the request for a call, with the digests that bind it. */
export async function draftCall(
  { principal, runtime }: AgentContext,
  connectionId: Id<'conn'>,
  { input }: Pick<ParsedCall, 'input'>,
  { action, resource, scope, series, preview }: AskMatch,
): Promise<CallDraft> {
  const request: RequestInput = {
    action,
    resource,
    scope,
    preview,
    input,
    expires_in: EXPIRES_IN,
    token_ttl: TOKEN_TTL,
    max_uses: 1,
    reports_outcome: true,
    series: series && {
      ...series,
      varies: series.varies.filter((key) => Object.hasOwn(scope, key)),
    },
  };
  requireSeriesFits(request);
  const subject = {
    account: principal.account.number,
    agent: principal.agent.number,
    id: newId(runtime, 'perm'),
    action,
    resource,
  };
  const act = await describeAct(request);
  const { inputDigest } = act;
  if (inputDigest === null) throw new Error('The call has no input');
  return { subject, input: request, act: { ...act, inputDigest }, connectionId };
}

interface NewCall {
  draft: CallDraft;
  rules: Rules;
  connection: ConnectionRow;
  lookup: CallLookup;
  /** The permission to which the call led before; null if it led to none. */
  previousPermission: Id<'perm'> | null;
  /** How often the rows that decide the call changed after they were read. */
  staleReads: number;
}

/**
 * What happened: the call may be sent now; it waits for people; or a row changed, so the caller
 * reads again.
 */
export type CallProgress =
  | { kind: 'used'; permission: UsedPermission }
  | { kind: 'pending'; id: Id<'perm'> }
  | { kind: 'changed' };

/**
 * Asks for permission for a call, and maps the call's name to the new permission. If a policy or a
 * series approves it, its use is taken in the same transaction.
 * @throws Problem `permission_denied` if a policy denies it; the problems of `storeRequest`
 */
export async function askForCall(context: AgentContext, call: NewCall): Promise<CallProgress> {
  const { draft, rules, connection, lookup, previousPermission, staleReads } = call;
  const now = context.runtime.now();
  const { account, agent, id } = draft.subject;
  const weighed = await weighRequest(context, draft, rules, staleReads);
  const ruling = takeUseAtOnce(context, draft, weighed);
  const caller = { account, connection: connection.id, agent };
  const takeover = previousPermission === null ? lookup.takeover : null;
  const target = { permission: id, inputDigest: draft.act.inputDigest };
  const store = () =>
    storeRequest(context, draft, ruling, {
      guards: [
        connectionGuard(connection),
        newCallGuard(caller, { ...lookup, takeover }, { previousPermission, now }),
      ],
      changes: (write) => [
        write
          .insert(connectionCalls)
          .values({ ...caller, name: lookup.name, ...target })
          .onConflictDoUpdate({
            target: [
              connectionCalls.account,
              connectionCalls.connection,
              connectionCalls.agent,
              connectionCalls.name,
            ],
            set: target,
          }),
      ],
    });
  try {
    if (ruling.kind === 'decided' && ruling.useEntry) {
      const used = { id, account, use: ruling.useEntry };
      await untilCertain(context, used, store);
      return { kind: 'used', permission: used };
    }
    await store();
  } catch (error) {
    if (isOutdated(error)) return { kind: 'changed' };
    throw error;
  }
  if (ruling.kind === 'decided' && ruling.columns.status === 'denied')
    throw denied({ id, decisionReason: ruling.columns.decisionReason ?? null });
  return { kind: 'pending', id };
}

/** If the ruling approves, adds the entry and columns of the token's first use. */
function takeUseAtOnce(context: AgentContext, draft: DraftRequest, ruling: Ruling): Ruling {
  if (ruling.kind === 'waits' || !draft.connectionId) return ruling;
  const { status, grantedScope, policyId = null } = ruling.columns;
  if (status !== 'approved') return ruling;
  const scope = grantedScope ?? draft.input.scope;
  return {
    ...ruling,
    useEntry: draftUse(context, { ...draft.subject, policyId }, { scope }),
    columns: {
      ...ruling.columns,
      tokenStatus: 'used',
      tokenUses: 1,
      ...awaitOutcome(draft.connectionId, context.runtime.now()),
    },
  };
}
