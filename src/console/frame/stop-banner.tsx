import { STOP_SCOPES } from '../../accounts/me/stop';
import type { Scope } from '../../http/context';
import { shorten } from '../../lib/text';
import { Time, Written } from '../parts/inline';
import type { SignedIn } from '../session/access';

/** The banner shows longer reasons shortened; the page of the stop shows all of it. */
const MAX_REASON = 200;

/** Whether somebody with these scopes may stop the account. */
export function mayStop(scopes: readonly Scope[]): boolean {
  return STOP_SCOPES.some((scope) => scopes.includes(scope));
}

/** The link to stop all agents, for those who may; nothing while they are stopped. */
export function StopLink({ signedIn: { stop, context } }: { signedIn: SignedIn }) {
  if (stop || !mayStop(context.principal.scopes)) return null;
  return (
    <a class="button danger small" href="/console/stop">
      Stop all agents
    </a>
  );
}

/** Says on every page who stopped all agents, when and why; nothing while they run. */
export function StopBanner({ signedIn: { stop, context } }: { signedIn: SignedIn }) {
  if (!stop) return null;
  const { at, by, reason } = stop;
  const mayResume = context.principal.scopes.includes('account:write');
  return (
    <section class="stopped" aria-label="All agents are stopped">
      <p>
        <strong>All agents are stopped</strong> since <Time at={at} />, by <Written text={by} />
        {reason !== null && [': ', <Written text={shorten(reason, MAX_REASON)} />]}
      </p>
      <a class="button small" href="/console/stop">
        {mayResume ? 'Resume' : 'Details'}
      </a>
    </section>
  );
}
