import { AgentCreation, createAgent } from '../../agents/create';
import { type Refusal, readForm, refusalOf, validate } from '../frame/form';
import { sendPage } from '../frame/page';
import { LinkButton, Section, ToCopy } from '../parts/blocks';
import { Form, Submit } from '../parts/form';
import { toOneLine, Written } from '../parts/inline';
import type { ConsoleContext } from '../session/access';
import { AgentFields, loadOwners } from './fields';

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
          <Section name="key" title="Its key">
            <p>
              Copy it now: it is shown only this once. With it a program asks for permission as this
              agent.
            </p>
            <ToCopy id="key" text={agent.api_key} label="Key" />
          </Section>
          <FirstRequest apiKey={agent.api_key} origin={c.var.config.publicUrl} />
          <p class="actions">
            <LinkButton href="/console" label="Go to the inbox" />
            <LinkButton href={`/console/agents/${agent.id}`} label="See the agent" kind="quiet" />
          </p>
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

/**
 * A request that needs no preparation. Its JSON has no single quote, which would end the text in
 * the shell.
 */
const REQUEST = { action: 'demo.greet', resource: 'demo:first', reason: 'My first request' };

/** Three lines of code that send a first request with the key of a new agent. */
function FirstRequest({ apiKey, origin }: { apiKey: string; origin: string }) {
  const address = `${origin}/v1/permissions`;
  const body = JSON.stringify(REQUEST);
  const curl = `curl ${address} -H 'Content-Type: application/json' \\
  -H 'Authorization: Bearer ${apiKey}' \\
  -d '${body}'`;
  const script = `const response = await fetch('${address}', {
  method: 'POST',
  headers: {
    Authorization: 'Bearer ${apiKey}',
    'Content-Type': 'application/json',
  },
  body: JSON.stringify(${body}),
});
console.log(await response.json());`;
  return (
    <Section name="first" title="Its first request">
      <p>
        Run these lines in a terminal. The request then waits in the inbox, unless a policy decides
        it at once.
      </p>
      <ToCopy id="curl" text={curl} label="First request with curl" />
      <details>
        <summary>The same in JavaScript</summary>
        <ToCopy id="javascript" text={script} label="First request in JavaScript" />
      </details>
    </Section>
  );
}
