import { type Id, parseId } from '../../lib/typeid';
import { decidePermission } from '../../permissions/decide';
import { Denial } from '../../permissions/deny';
import type { Decision } from '../../permissions/reviews/decision';
import {
  decidingContext,
  decisionState,
  loadDecision,
} from '../../permissions/reviews/preload-decision';
import { type Refusal, readForm, refusalOf, type SentForm, validate } from '../frame/form';
import { sendPage } from '../frame/page';
import { LinkButton, PAGE_SIZE } from '../parts/blocks';
import { Code } from '../parts/inline';
import type { ConsoleContext } from '../session/access';
import { redirectWithFlash } from '../session/flash';
import { readReturnPath } from '../session/return-path';
import { isSenderMark } from '../session/session';
import { showWaiting } from './inbox';

/**
 * Denies the requests that are checked in the inbox, one after the other. One that was decided
 * meanwhile, or that the member may not deny, does not keep the others from being denied; the
 * answer names it. A form with a fault denies nothing: the inbox shows it again.
 */
export async function denySeveral(c: ConsoleContext): Promise<Response> {
  const form = await readForm(c);
  const inbox = readInboxAddress(form, new URL(c.req.url));
  const ids = readIds(form);
  const refuse = (refusal: Refusal) => showWaiting(c, inbox, { refusal, checked: ids });
  if (ids.length === 0 || ids.length > PAGE_SIZE) {
    const what =
      ids.length === 0
        ? 'Check the requests that you want to deny'
        : `Check at most ${PAGE_SIZE} requests`;
    return refuse({
      detail: `Nothing was denied. ${what}.`,
      status: 400,
      faults: new Map(),
      typed: form.typed,
    });
  }
  const decision = readDenial(form);
  if ('refusal' in decision) return refuse(decision.refusal);
  const states = await Promise.all(ids.map((id) => loadDecision(c.var.signedIn.context, { id })));
  const refused: { id: Id<'perm'>; detail: string }[] = [];
  for (const [index, id] of ids.entries()) {
    const detail = await deny(c, id, states[index] as LoadedState, decision);
    if (detail !== null) refused.push({ id, detail });
  }
  const address = inbox.pathname + inbox.search;
  if (refused.length === 0) return redirectWithFlash(c, address, 'denied', { count: ids.length });
  return sendPage(c, {
    title: `${ids.length - refused.length} of ${ids.length} denied`,
    isNarrow: true,
    children: (
      <>
        <p>These were not denied:</p>
        <ul class="lines">
          {refused.map(({ id, detail }) => (
            <li>
              <span>
                <a href={`/console/permissions/${id}`}>
                  <Code text={id} />
                </a>
                <small>{detail}</small>
              </span>
            </li>
          ))}
        </ul>
        <p class="actions">
          <LinkButton href={address} label="Back to the inbox" />
        </p>
      </>
    ),
  });
}

/**
 * Shows the inbox again with what somebody typed and checked before their session ended. Denies
 * nothing. What another person typed is left out.
 */
export async function showTypedDenial(c: ConsoleContext): Promise<Response> {
  const { config, signedIn } = c.var;
  const form = await readForm(c);
  const inbox = readInboxAddress(form, new URL(c.req.url));
  if (!(await isSenderMark(config.keyring, signedIn.context.principal, form.text('sender')))) {
    return showWaiting(c, inbox);
  }
  const detail = 'Your session had ended, so nothing was denied. Check the list, and deny again.';
  const refusal = { detail, status: 200, faults: new Map(), typed: form.typed };
  return showWaiting(c, inbox, { refusal, checked: form.list('id') });
}

/** The requests that are checked, or all of a group whose button was pressed. */
function readIds(form: SentForm): Id<'perm'>[] {
  const group = form.text('group');
  const texts = group ? group.split(' ') : form.list('id');
  return texts.flatMap((text) => parseId('perm', text) ?? []);
}

/** The address of the inbox from which the form was sent. */
function readInboxAddress(form: SentForm, { origin }: URL): URL {
  const address = new URL(readReturnPath(form.text('from')), origin);
  return address.pathname === '/console' ? address : new URL('/console', origin);
}

/** Reads the denial with the schema of the API. */
function readDenial(form: SentForm): Decision | { refusal: Refusal } {
  try {
    const { reason } = validate(Denial(), { reason: form.text('reason') });
    return { kind: 'deny', narrowed: {}, reason: reason || null, via: 'console' };
  } catch (error) {
    return { refusal: refusalOf(error, form) };
  }
}

type LoadedState = Awaited<ReturnType<typeof loadDecision>>;

/** Denies one request; returns why that was refused, or null. */
async function deny(
  c: ConsoleContext,
  id: Id<'perm'>,
  state: LoadedState,
  decision: Decision,
): Promise<string | null> {
  const { context } = c.var.signedIn;
  const reload = async () => {
    await c.var.authenticateAgain?.();
    return loadDecision(c.var.signedIn.context, { id });
  };
  try {
    await decidePermission(
      decidingContext(context, reload, decision, {}),
      decisionState(state),
      decision,
    );
    return null;
  } catch (error) {
    return refusalOf(error).detail;
  }
}
