import { AgentCreation, createAgent } from '../../agents/create';
import { type Refusal, readForm, refusalOf, validate } from '../frame/form';
import { sendPage } from '../frame/page';
import { LinkButton } from '../parts/blocks';
import { Form, Submit } from '../parts/form';
import { toOneLine, Written } from '../parts/inline';
import { AfterSecret, Secret } from '../parts/secret';
import type { ConsoleContext } from '../session/access';
import { AgentFields, loadOwners } from './fields';
import { FirstRequest } from './first-request';

/** The sentence that says the purpose of an agent's key. */
export const KEY_PURPOSE = 'A program uses the key to ask for permission as this agent.';

/** Shows the form that registers an agent. */
export function showRegistration(c: ConsoleContext): Promise<Response> {
  return sendForm(c);
}

/** Registers an agent, and shows its key this once, with the code that sends a first request. */
export async function registerAgent(c: ConsoleContext): Promise<Response> {
  const form = await readForm(c);
  try {
    const fields = {
      name: form.text('name'),
      description: form.text('description'),
      owner_id: form.text('owner_id') || undefined,
    };
    const input = validate(AgentCreation(), fields);
    const agent = await c.var.once((context) => createAgent(context, input));
    return sendPage(c, {
      title: `${toOneLine(agent.name)} is registered`,
      status: 201,
      heading: [<Written text={agent.name} />, ' is registered'],
      children: (
        <>
          <Secret title="The key" text={agent.api_key} purpose={KEY_PURPOSE} />
          <FirstRequest agent={agent.id} apiKey={agent.api_key} origin={c.var.config.publicUrl} />
          <AfterSecret next={`/console/agents/${agent.id}`}>
            <LinkButton href="/console" label="Go to the inbox" kind="quiet" />
          </AfterSecret>
        </>
      ),
    });
  } catch (error) {
    return sendForm(c, refusalOf(error, form));
  }
}

async function sendForm(c: ConsoleContext, refusal?: Refusal): Promise<Response> {
  const owners = await loadOwners(c.var.signedIn.context);
  return sendPage(c, {
    title: 'Register an agent',
    isNarrow: true,
    status: refusal?.status,
    children: (
      <Form action="/console/agents" refusal={refusal} class="card" creates>
        <AgentFields
          values={{ owner_id: c.var.signedIn.context.principal.member?.id ?? '' }}
          owners={owners}
        />
        <Submit label="Register it" cancel="/console/agents" />
      </Form>
    ),
  });
}
