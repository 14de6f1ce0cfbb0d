import type { Child } from 'hono/jsx';
import type { UserPrincipal } from '../../http/context';
import type { ReviewedPermission } from '../../permissions/permission';
import type { Standing } from '../../permissions/reviews/voter';
import type { Form, Refusal } from '../frame/form';
import type { Names } from '../frame/names';
import { CsrfField } from '../frame/page';
import { TextField } from '../parts/form';
import { Written } from '../parts/text';
import { ApprovalEffect } from './approval-effect';
import { LimitsFields } from './limits-fields';

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
  standing: Standing;
  /** Whether the reader's scopes allow decisions. */
  mayDecide: boolean;
  principal: UserPrincipal;
  mayMakeRule: boolean;
  hasPasskey: boolean;
  names: Names;
  refusal?: Refusal;
  /** The form that was refused. */
  form?: Form;
}

/** The form with which a person decides: approve as asked or with narrower limits, or deny. */
export function DecisionForm(props: DecisionFormProps) {
  const { row, standing, mayDecide, principal, mayMakeRule, hasPasskey, refusal, form } = props;
  if (!mayDecide) {
    return (
      <Panel refusal={refusal}>
        <p>
          It waits for a decision.{' '}
          {principal.token === null
            ? 'Your role cannot decide: an approver, admin or owner can.'
            : 'The user token with which you signed in cannot decide. Sign in with a passkey.'}
        </p>
      </Panel>
    );
  }
  if (standing === 'others') {
    return (
      <Panel refusal={refusal}>
        <p>
          It waits for its reviewers.{' '}
          {principal.member
            ? 'You are not one of them, so you can neither approve nor deny it.'
            : 'They are members: a token of the account can neither approve nor deny it. Sign in with a passkey.'}
        </p>
      </Panel>
    );
  }
  const mayApprove = standing === 'decide';
  const votes = String(row.review?.votes.length ?? 0);
  // What was typed about other limits than these says nothing.
  const typed = form && Number(form.text('votes')) === Number(votes) ? form : undefined;
  const needsPasskey = row.review?.rule.passkey === true;
  const path = `/console/permissions/${row.id}`;
  return (
    <Panel refusal={refusal}>
      {standing === 'approved' && <p>You have approved it. It waits for others; you can still deny it.</p>}
      {standing === 'owner' && <p>You own this agent, so others approve. You can deny it.</p>}
      {mayApprove && <ApprovalEffect row={row} />}
      <form method="post" action={`${path}/decide`} data-sign={`${path}/statement`} id="decide">
        <CsrfField />
        <input type="hidden" name="votes" value={votes} />
        <input type="hidden" name="assertion" value="" />
        <input type="hidden" name="signed_at" value="" />
        {/* The first button is the one that Enter presses: in a field, Enter must neither approve nor deny. */}
        <button type="submit" disabled hidden>
          Nothing
        </button>
        {mayApprove && <LimitsFields row={row} refusal={refusal} typed={typed} />}
        <TextField
          label="Reason"
          name="reason"
          hint="Optional. The agent sees it, and the log keeps it."
          maxlength={1000}
          list="reasons"
          autocomplete="off"
          value={form?.text('reason')}
          refusal={refusal}
        />
        <datalist id="reasons">
          {REASONS.map((reason) => (
            <option value={reason} />
          ))}
        </datalist>
        <div class="actions">
          {mayApprove && !needsPasskey && (
            <button type="submit" name="decision" value="approve" data-key="approve" class="approve">
              Approve
            </button>
          )}
          {mayApprove && needsPasskey && (
            <button
              type="submit"
              name="decision"
              value="approve"
              data-key="approve"
              data-sign
              class="approve"
              disabled={!hasPasskey}
            >
              Approve with passkey
            </button>
          )}
          <button type="submit" name="decision" value="deny" data-key="deny" class="danger">
            Deny
          </button>
        </div>
        {mayApprove && needsPasskey && hasPasskey && (
          <p class="hint">Your passkey signs the approval, which needs JavaScript. Without it you can only deny.</p>
        )}
        {mayApprove && needsPasskey && !hasPasskey && (
          <p class="hint">
            Approvals must be signed with a passkey. <a href="/console/me">Add one to your sign-in</a> first.
          </p>
        )}
        {mayApprove && !needsPasskey && hasPasskey && (
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
        )}
      </form>
      {mayApprove && mayMakeRule && (
        <p>
          <a href={`/console/policies/new?permission=${row.id}`}>Approve, and make a rule</a>{' '}
          <small>for requests like this; opens a form first</small>
        </p>
      )}
    </Panel>
  );
}

function Panel({ refusal, children }: { refusal: Refusal | undefined; children: Child }) {
  return (
    <section class="card decide" aria-labelledby="decide-title">
      <h2 id="decide-title">Decide</h2>
      {refusal && <RefusalNotice refusal={refusal} />}
      {children}
    </section>
  );
}

/** What was refused. Limits that were typed too high are marked at their fields. */
function RefusalNotice({ refusal }: { refusal: Refusal }) {
  return (
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
  );
}
