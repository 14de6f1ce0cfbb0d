import { sql } from 'drizzle-orm';
import { loadNonNull } from '../../db/database';
import { invalidRequest } from '../../errors';
import { actorOf } from '../../http/activity';
import { type Id, idBytes, parseId } from '../../lib/typeid';
import { type Decision, decidePermission } from '../../permissions/decide';
import { decidingContext, decisionState, selectDecision } from '../../permissions/decision-in-path';
import { Denial } from '../../permissions/deny';
import { readForm, refusalOf, validate } from '../frame/form';
import { sendPage } from '../frame/page';
import { LinkButton } from '../parts/blocks';
import { Code } from '../parts/inline';
import type { ConsoleContext } from '../session/access';

/** Maximum number of requests that are denied at once. Each takes two round trips. */
const MAX_DENIED = 25;

/**
 * Denies the requests that are checked in the inbox, one after the other. One that was decided meanwhile, or that the
 * member may not deny, does not keep the others from being denied; the answer names it.
 */
export async function denySeveral(c: ConsoleContext): Promise<Response> {
  const form = await readForm(c);
  const ids = form.list('id').flatMap((text) => parseId('perm', text) ?? []);
  if (ids.length === 0 || ids.length > MAX_DENIED) {
    throw invalidRequest([{ path: 'body.id', message: `must be 1 to ${MAX_DENIED} checked requests` }]);
  }
  const { reason } = validate(Denial(), { reason: form.text('reason') });
  const decision: Decision = { decision: 'deny', narrowed: {}, reason: reason || null, via: 'console' };
  const refused: { id: Id<'perm'>; detail: string }[] = [];
  for (const id of ids) {
    const detail = await deny(c, id, decision);
    if (detail !== null) refused.push({ id, detail });
  }
  if (refused.length === 0) return c.redirect('/console', 303);
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
          <LinkButton href="/console" label="Back to the inbox" />
        </p>
      </>
    ),
  });
}

/** Denies one request; returns why that was refused, or null. */
async function deny(c: ConsoleContext, id: Id<'perm'>, decision: Decision): Promise<string | null> {
  const { context } = c.var.signedIn;
  const { principal, reader, runtime } = context;
  const load = async () => {
    const key = { account: sql<number>`${principal.account.number}`, callerId: sql`${idBytes(actorOf(principal))}` };
    const queries = selectDecision(reader, { ...key, id, assertion: undefined, now: runtime.now() });
    const [permission, voter] = await loadNonNull(reader, [queries.permission, queries.voter]);
    return { permission, voter };
  };
  const reload = async () => {
    await c.var.authenticateAgain?.();
    return load();
  };
  try {
    await decidePermission(decidingContext(context, reload, decision, {}), decisionState(await load()), decision);
    return null;
  } catch (error) {
    return refusalOf(error).detail;
  }
}
