import { AgentCreation, createAgent } from '../../agents/create';
import { type Refusal, readForm, refusalOf, type Typed, validate } from '../frame/form';
import { sendPage } from '../frame/page';
import { Form } from '../parts/form';
import { visibleText, Written } from '../parts/text';
import { ToCopy } from '../parts/to-copy';
import type { ConsoleContext } from '../session/access';
import { AgentFields, loadOwners } from './fields';
import { FirstRequest } from './first-request';

/** Shows the form that registers an agent. */
export function showRegistration(c: ConsoleContext): Promise<Response> {
  return sendForm(c, {});
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
      title: `${visibleText(agent.name)} is registered`,
      heading: (
        <>
          <Written text={agent.name} /> is registered
        </>
      ),
      children: (
        <>
          <section class="card" aria-labelledby="key-title">
            <h2 id="key-title">Its key</h2>
            <p>Copy it now: it is shown only this once. With it a program asks for permission as this agent.</p>
            <ToCopy id="key" text={agent.api_key} label="Key" />
          </section>
          <FirstRequest apiKey={agent.api_key} origin={c.var.config.publicUrl} />
          <p class="actions">
            <a class="button" href="/console">
              Go to the inbox
            </a>
            <a class="button quiet" href={`/console/agents/${agent.id}`}>
              See the agent
            </a>
          </p>
        </>
      ),
      status: 201,
    });
  } catch (error) {
    return sendForm(c, form.typed, refusalOf(error));
  }
}

async function sendForm(c: ConsoleContext, typed: Typed, refusal?: Refusal): Promise<Response> {
  const owners = await loadOwners(c.var.signedIn.context);
  return sendPage(c, {
    title: 'Register an agent',
    isNarrow: true,
    status: refusal?.status,
    children: (
      <Form action="/console/agents" refusal={refusal} class="card" creates>
        <AgentFields
          typed={{ owner_id: c.var.signedIn.context.principal.member?.id ?? '', ...typed }}
          owners={owners}
          refusal={refusal}
        />
        <p class="actions">
          <button type="submit">Register it</button>
          <a class="button quiet" href="/console/agents">
            Cancel
          </a>
        </p>
      </Form>
    ),
  });
}
