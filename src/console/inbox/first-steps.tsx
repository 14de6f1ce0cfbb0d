import { usePage } from '../frame/page-context';
import { Empty } from '../parts/blocks';
import { Form, TextField } from '../parts/form';

/** What an account without agents sees: how to connect the first one. */
export function FirstSteps() {
  if (!usePage().may('agents:write')) {
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
      <Form action="/console/agents" class="inline" creates>
        <TextField label="Name of the agent" name="name" value="My first agent" maxlength={255} required />
        <button type="submit">Register it</button>
      </Form>
    </Empty>
  );
}
