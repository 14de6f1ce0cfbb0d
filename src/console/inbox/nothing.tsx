import type { WaitsFor } from '../../permissions/list-waiting';
import { agentsOf } from '../frame/names';
import { usePage } from '../frame/page-context';
import { Empty } from '../parts/blocks';
import { TextField } from '../parts/fields';
import { Form } from '../parts/form';
import { WHOM } from './count-words';

interface NothingProps {
  /** Undefined for readers who may not decide. */
  waitsFor: WaitsFor | undefined;
  isFiltered: boolean;
}

/** Says that nothing waits, and how to go on. */
export function Nothing({ waitsFor, isFiltered }: NothingProps) {
  if (isFiltered) {
    return (
      <Empty title="Nothing waits here.">
        <p>
          <a href={waitsFor === 'others' ? '/console?for=others' : '/console'}>
            Show the whole list
          </a>
        </p>
      </Empty>
    );
  }
  if (agentsOf(usePage().names).length === 0) return <FirstSteps />;
  const whom = waitsFor ? WHOM[waitsFor] : 'a decision';
  return (
    <Empty title={`Nothing waits for ${whom}.`}>
      <p>New requests appear here by themselves.</p>
    </Empty>
  );
}

/** Tells an account without agents how to connect the first one. */
function FirstSteps() {
  if (!usePage().may('agents:write')) {
    return (
      <Empty title="No agent is registered yet.">
        <p>
          Requests of agents will wait here. A developer, admin or owner of the account can register
          an agent.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="Connect your first agent">
      <p>
        Register it to get its key, with code that sends a first request. The request then waits
        here for you.
      </p>
      <Form action="/console/agents" class="inline" creates>
        <TextField
          label="Name of the agent"
          name="name"
          value="My first agent"
          maxlength={255}
          required
        />
        <button type="submit">Register it</button>
      </Form>
    </Empty>
  );
}
