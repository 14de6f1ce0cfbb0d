import type { Child } from 'hono/jsx';
import type { UserPrincipal } from '../../http/context';
import { duration } from '../../lib/duration';
import { SECOND } from '../../lib/time';
import { proposedLimits } from '../../permissions/limits';
import type { ReviewedPermission } from '../../permissions/permission';
import { approvalsLeft, countVotes } from '../../permissions/reviews/review';
import type { Standing } from '../../permissions/reviews/voter';
import type { Refusal, SentForm } from '../frame/form';
import { CsrfField } from '../frame/page';
import { usePage } from '../frame/page-context';
import { Section } from '../parts/blocks';
import { TextField } from '../parts/fields';
import { Written } from '../parts/inline';
import { RefusalProvider } from '../parts/refusal';
import { SeriesFields } from '../series/series-fields';
import { DecisionBar } from './decision-bar';
import { hasNarrowedScope, LimitsFields } from './limits-fields';
import { cardAddress } from './next-request';

const REASONS = [
  'Looks right',
  'As agreed',
  'Not needed',
  'Too much',
  'Wrong recipient or target',
  'Ask again with more details',
];

interface DecisionFormProps {
  row: ReviewedPermission;
  /** How much is asked for, or what. */
  name: string;
  standing: Standing;
  principal: UserPrincipal;
  hasPasskey: boolean;
  /** The agent to whose requests the inbox was limited. */
  agentId: string | undefined;
  refusal?: Refusal;
  /** The form as it was sent and refused. */
  form?: SentForm;
}

/** The form with which a person decides: approve as asked or with narrower limits, or deny. */
export function DecisionForm(props: DecisionFormProps) {
  const { row, name, standing, principal, hasPasskey, agentId, refusal } = props;
  const { may, isStopped } = usePage();
  const obstacle = obstacleOf(may('permissions:decide'), standing, principal);
  if (obstacle !== null) {
    return (
      <Panel refusal={refusal}>
        <p>{obstacle}</p>
      </Panel>
    );
  }
  const rights: ApprovalRights = {
    mayApprove: standing === 'may_decide' && !isStopped,
    needsPasskey: row.review?.rule.passkey === true,
    hasPasskey,
  };
  return (
    <>
      <Panel refusal={refusal}>
        <WhyOnlyDeny standing={standing} />
        {rights.mayApprove && <ApprovalEffect row={row} />}
        <form
          method="post"
          action={cardAddress(`${row.id}/decide`, agentId)}
          data-sign={`/console/permissions/${row.id}/statement`}
          id="decide"
        >
          <HiddenFields row={row} />
          <Fields {...props} mayApprove={rights.mayApprove} />
          <Buttons {...rights} />
          {rights.mayApprove && <Signing {...rights} />}
        </form>
        {rights.mayApprove && may('policies:read') && may('policies:write') && (
          <p>
            <a href={`/console/policies/new?permission=${row.id}`}>Approve, and make a rule</a>{' '}
            <small>for requests like this; opens a form first</small>
          </p>
        )}
      </Panel>
      <DecisionBar row={row} name={name} agentId={agentId} {...rights} />
    </>
  );
}

/** Which of the buttons the reader has. */
interface ApprovalRights {
  mayApprove: boolean;
  /** Whether the review takes only approvals that are signed. */
  needsPasskey: boolean;
  hasPasskey: boolean;
}

/** Says why the reader can deny the request, but not approve it; nothing if they can do both. */
function WhyOnlyDeny({ standing }: { standing: Standing }) {
  const { isStopped } = usePage();
  return (
    <>
      {isStopped && (
        <p class="notice waiting">
          All agents are stopped, so nothing can be approved. You can deny it.
        </p>
      )}
      {standing === 'has_approved' && (
        <p>You have approved it. It waits for others; you can still deny it.</p>
      )}
      {standing === 'owns_agent' && <p>You own this agent, so others approve. You can deny it.</p>}
    </>
  );
}

function HiddenFields({ row }: { row: ReviewedPermission }) {
  return (
    <>
      <CsrfField />
      <input type="hidden" name="votes" value={String(countVotes(row))} />
      <input type="hidden" name="assertion" value="" />
      <input type="hidden" name="signed_at" value="" />
      {/* Enter in a field presses the first button: it must neither approve nor deny. */}
      <button type="submit" disabled hidden>
        Nothing
      </button>
    </>
  );
}

/** The fields of the decision: the limits and the series of an approval, and the reason. */
function Fields({
  row,
  principal,
  refusal,
  form,
  mayApprove,
}: DecisionFormProps & { mayApprove: boolean }) {
  // Limits are shown again as typed, unless a vote in between has changed the limits that they
  // narrow.
  const hasSameVotes = Number(form?.text('votes')) === countVotes(row);
  const typed = hasSameVotes ? form : undefined;
  return (
    <>
      <RefusalProvider value={refusal}>
        {mayApprove && <LimitsFields row={row} typed={typed} />}
        {mayApprove && (
          <SeriesFields
            row={row}
            principal={principal}
            further={furtherApprovals(row)}
            typed={typed}
          />
        )}
        <TextField
          label="Reason"
          name="reason"
          hint="Optional. The agent sees it, and the log keeps it."
          maxlength={1000}
          list="reasons"
          value={form?.text('reason')}
        />
      </RefusalProvider>
      <datalist id="reasons">
        {REASONS.map((reason) => (
          <option value={reason} />
        ))}
      </datalist>
    </>
  );
}

function Buttons({ mayApprove, needsPasskey, hasPasskey }: ApprovalRights) {
  return (
    <div class="actions">
      <button type="submit" name="decision" value="deny" data-key="deny" class="danger">
        Deny
      </button>
      {mayApprove && (
        <button
          type="submit"
          name="decision"
          value="approve"
          data-key="approve"
          data-sign={needsPasskey ? '' : undefined}
          class="approve"
          disabled={needsPasskey && !hasPasskey}
        >
          {needsPasskey ? 'Approve with passkey' : 'Approve'}
        </button>
      )}
    </div>
  );
}

/**
 * How an approval can be signed: says what the reader needs where it has to be, and offers it where
 * it need not be.
 */
function Signing({ needsPasskey, hasPasskey }: ApprovalRights) {
  if (needsPasskey && hasPasskey) {
    return (
      <p class="hint">
        Your passkey signs the approval, which needs JavaScript. Without it you can only deny.
      </p>
    );
  }
  if (needsPasskey) {
    return (
      <p class="hint">
        Approvals must be signed with a passkey. <a href="/console/me">Add one to your sign-in</a>{' '}
        first.
      </p>
    );
  }
  if (!hasPasskey) return null;
  return (
    <div class="part" data-with-script hidden>
      <p class="hint">Optional: with a signature, an auditor can verify that it was you.</p>
      <div class="actions">
        <button type="submit" name="decision" value="approve" data-sign class="quiet small">
          Sign with passkey and approve
        </button>
        <button type="submit" name="decision" value="deny" data-sign class="quiet small">
          Sign with passkey and deny
        </button>
      </div>
    </div>
  );
}

/** Why the reader can neither approve nor deny; null for those who can. */
function obstacleOf(
  mayDecide: boolean,
  standing: Standing,
  { member, token }: UserPrincipal,
): string | null {
  if (!mayDecide) {
    const waits = 'It waits for a decision.';
    if (token === null) return `${waits} Your role cannot decide: an approver, admin or owner can.`;
    return `${waits} The user token with which you signed in cannot decide. Sign in with a passkey.`;
  }
  if (standing !== 'not_a_reviewer') return null;
  const waits = 'It waits for its reviewers.';
  if (member) return `${waits} You are not one of them, so you can neither approve nor deny it.`;
  return `${waits} They are members: a token of the account can neither approve nor deny it. Sign in with a passkey.`;
}

/** Says what was refused, also of limits, whose fields are folded. */
function Panel({ refusal, children }: { refusal: Refusal | undefined; children: Child }) {
  return (
    <Section name="decide" title="Decide" class="card decide">
      {refusal && (
        <div class="notice bad" role="alert">
          <p>{refusal.detail}</p>
          {refusal.faults.size > 0 && (
            <ul>
              {[...refusal.faults].map(([path, message]) => (
                <li>
                  <Written text={`${path.replace(/^scope\./, '')} ${message}.`} />
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
      {children}
    </Section>
  );
}

/** Says what the agent may do after an approval, or that more people have to approve. */
function ApprovalEffect({ row }: { row: ReviewedPermission }) {
  const { tokenTtl, maxUses } = proposedLimits(row);
  const further = furtherApprovals(row);
  const isNarrowed = tokenTtl !== row.tokenTtl || maxUses !== row.maxUses || hasNarrowedScope(row);
  return (
    <div class="part">
      <p>
        If you approve, {further > 0 && `it waits for ${moreApprovals(further)}. After that `}the
        agent may do it <strong>{maxUses === 1 ? 'once' : `${maxUses} times`}</strong>, within{' '}
        {duration(tokenTtl * SECOND)}.{further <= 0 && ' No other approval is needed.'} You can
        revoke an approval that is not used up; this does not undo what the agent has done by then.
      </p>
      {isNarrowed && (
        <p class="notice waiting">
          An earlier vote lowered the limits: only what is <strong>proposed</strong> can be granted.
        </p>
      )}
    </div>
  );
}

/** How many approvals a request needs after the next one. */
function furtherApprovals({ review }: ReviewedPermission): number {
  return review ? approvalsLeft(review) - 1 : 0;
}

function moreApprovals(count: number): string {
  return count === 1 ? 'one more approval' : `${count} more approvals`;
}
