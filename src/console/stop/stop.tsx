import { resumeAccount } from '../../accounts/me/resume';
import { StopRequest, stopAccount } from '../../accounts/me/stop';
import { type Refusal, readForm, refusalOf, validate } from '../frame/form';
import { sendPage } from '../frame/page';
import { mayStop } from '../frame/stop-banner';
import { LinkButton } from '../parts/blocks';
import { TextArea } from '../parts/fields';
import { Action, Form, Submit } from '../parts/form';
import { Time, Written, WrittenText } from '../parts/inline';
import { SignInAgain } from '../parts/sign-in-again';
import { type ConsoleContext, requireScopes, type SignedIn } from '../session/access';
import { redirectWithFlash } from '../session/flash';

const PATH = '/console/stop';

/** Shows the form that stops all agents; while they are stopped, who did it, when and why. */
export async function showStop(c: ConsoleContext): Promise<Response> {
  const { stop } = c.var.signedIn;
  return stop ? sendStopped(c, stop) : sendForm(c);
}

/** Stops all agents, and shows that they are stopped. */
export async function stop(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  requireStopper(c);
  const form = await readForm(c);
  try {
    await stopAccount(context, validate(StopRequest(), { reason: form.text('reason') }));
  } catch (error) {
    return sendForm(c, refusalOf(error, form));
  }
  return c.redirect(PATH, 303);
}

/** Lets the agents go on. */
export async function resume(c: ConsoleContext): Promise<Response> {
  await resumeAccount(c.var.signedIn.context);
  return redirectWithFlash(c, '/console', 'resumed');
}

/** @throws Problem `insufficient_scope` for somebody who may not stop the account */
function requireStopper(c: ConsoleContext): void {
  const { principal } = c.var.signedIn.context;
  if (!mayStop(principal.scopes)) requireScopes(principal, 'permissions:decide');
}

function sendForm(c: ConsoleContext, refusal?: Refusal): Response {
  requireStopper(c);
  return sendPage(c, {
    title: 'Stop all agents?',
    isNarrow: true,
    status: refusal?.status,
    children: (
      <Form action={PATH} class="card" refusal={refusal}>
        <p>
          At once, for every agent of the account: no agent can ask for a permission, nothing can be
          approved, and no approval can be used. This lasts until somebody resumes it.
        </p>
        <p>
          Nothing is revoked. What has been done stays done, and a program that checks tokens
          offline may still accept one until it expires. Everybody who can decide requests gets a
          message.
        </p>
        <TextArea
          label="Why"
          name="reason"
          value=""
          rows={3}
          maxlength={1000}
          hint="Optional. Everybody of the account sees it."
        />
        <Submit label="Stop all agents" kind="danger" cancel="/console" />
      </Form>
    ),
  });
}

function sendStopped(c: ConsoleContext, { at, by, reason }: NonNullable<SignedIn['stop']>) {
  const mayResume = c.var.signedIn.context.principal.scopes.includes('account:write');
  return sendPage(c, {
    title: 'All agents are stopped',
    isNarrow: true,
    children: (
      <>
        <div class="card">
          <p>
            <Written text={by} /> stopped them on <Time at={at} toSeconds />.
          </p>
          {reason !== null && (
            <div>
              <p class="hint">Why</p>
              <WrittenText text={reason} label="Why" />
            </div>
          )}
          <p>
            No agent can ask for a permission, nothing can be approved, and no approval can be used.
            You can still deny requests and revoke approvals.
          </p>
          {mayResume && (
            <p>
              After a resume, approvals that have not expired are valid again: first revoke those
              that should not be.
            </p>
          )}
          {!mayResume && <p>Somebody with the role owner or admin can resume.</p>}
          <p class="actions">
            <LinkButton href="/console" label="Open the inbox" kind="quiet" />
          </p>
        </div>
        {mayResume && (
          <div class="card">
            <SignInAgain page={PATH} purpose="To resume" />
            <div class="bar">
              <p class="soft">Everybody who can decide requests gets a message.</p>
              <Action action="/console/resume" label="Resume all agents" />
            </div>
          </div>
        )}
      </>
    ),
  });
}
