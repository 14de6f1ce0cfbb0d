import { CsrfField, OnceField } from '../frame/page';
import { Empty } from '../parts/list';
import type { SignedIn } from '../session/access';

/** What an account without agents sees: how to connect the first one. */
export function FirstSteps({ context: { principal } }: { context: SignedIn['context'] }) {
  if (!principal.scopes.includes('agents:write')) {
    return (
      <Empty title="No agent is registered yet.">
        <p class="soft">
          Requests of agents will wait here. A developer, admin or owner of the account can register one.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="Connect your first agent">
      <p>
        Register it to get its key, with three lines that send a first request. The request then waits here for you.
      </p>
      <form method="post" action="/console/agents" class="inline">
        <CsrfField />
        <OnceField />
        <div class="field">
          <label for="first-agent">Name of the agent</label>
          <input id="first-agent" name="name" value="My first agent" maxlength={255} required />
        </div>
        <button type="submit">Register it</button>
      </form>
    </Empty>
  );
}
