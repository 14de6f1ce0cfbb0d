import type { Agent } from '../../agents/agent';
import { deleteAgent } from '../../agents/delete';
import { KeyRotation, rotateAgentKey } from '../../agents/rotate-key';
import { AgentUpdate, updateAgent } from '../../agents/update';
import { invalidRequest } from '../../errors';
import {
  readForm,
  refusalOf,
  requireUnchanged,
  requireUnchangedToActivate,
  type SentForm,
  validate,
} from '../frame/form';
import { sendPage } from '../frame/page';
import { Time, toOneLine, Written } from '../parts/inline';
import { AfterSecret, Secret } from '../parts/secret';
import { redirectWithFlash } from '../session/flash';
import { type AgentPageContext, requireAgentInPath, sendAgent } from './agent';
import type { RefusedAgentForm } from './manage';
import { KEY_PURPOSE } from './register';

/** The owner as it is now, whose name is among the facts of the page. */
const OWNER_AT_TOP = 'the one at the top of the page';

/**
 * Changes what the form says differently about an agent, unless somebody changed the agent since
 * the form was shown.
 */
export function editAgent(c: AgentPageContext): Promise<Response> {
  return changeAs(c, 'edit', async ({ id, name, description = '', owner_id, updated_at }, form) => {
    const present = { name, description, owner_id: owner_id ?? '' };
    const differing = Object.entries(present).filter(
      ([field, value]) => form.text(field) !== value,
    );
    if (differing.length === 0) return;
    const fields = Object.fromEntries(differing.map(([field]) => [field, form.text(field)]));
    requireUnchanged(
      'agent',
      form,
      updated_at,
      { name, description, owner_id: OWNER_AT_TOP },
      fields,
    );
    await updateAgent(c.var.signedIn.context, { id, ...validate(AgentUpdate(), fields) });
  });
}

/** Switches an agent on or off: on, only if nobody changed it since the page was shown. */
export function switchAgent(c: AgentPageContext): Promise<Response> {
  return changeAs(c, 'switch', async ({ id, updated_at }, form) => {
    const isActive = form.text('is_active') === 'true';
    if (isActive) requireUnchangedToActivate('agent', form, updated_at);
    await updateAgent(c.var.signedIn.context, { id, is_active: isActive });
  });
}

/** Deletes an agent whose name was typed to confirm that. */
export function removeAgent(c: AgentPageContext): Promise<Response> {
  const change = async ({ id, name }: Agent, form: SentForm) => {
    if (toOneLine(form.text('confirmation')) !== toOneLine(name)) {
      throw invalidRequest([
        { path: 'body.confirmation', message: 'is not the name of the agent' },
      ]);
    }
    await deleteAgent(c.var.signedIn.context, { id });
  };
  return changeAs(c, 'delete', change, '/console/agents');
}

/**
 * Does what a form of an agent's page says, and shows the agent again; if it is refused, with the
 * reason at the form.
 */
async function changeAs(
  c: AgentPageContext,
  name: RefusedAgentForm['form'],
  change: (agent: Agent, form: SentForm) => Promise<void>,
  next?: string,
): Promise<Response> {
  const agent = requireAgentInPath(c);
  const form = await readForm(c);
  try {
    await change(agent, form);
  } catch (error) {
    return sendAgent(c, { form: name, refusal: refusalOf(error, form) });
  }
  return redirectWithFlash(
    c,
    next ?? `/console/agents/${agent.id}`,
    next === undefined ? 'saved' : 'deleted',
  );
}

/** Gives an agent a new key, and shows it this once, with what becomes of the old one. */
export async function rotateKey(c: AgentPageContext): Promise<Response> {
  const { id, name } = requireAgentInPath(c);
  const form = await readForm(c);
  const seconds = form.text('grace_period');
  const input = validate(KeyRotation(), {
    grace_period: seconds === '' ? undefined : Number(seconds),
  });
  const { api_key, old_key_expires_at } = await c.var.once((context) =>
    rotateAgentKey(context, { id, ...input }),
  );
  return sendPage(c, {
    title: `A new key for ${toOneLine(name)}`,
    heading: ['A new key for ', <Written text={name} />],
    isNarrow: true,
    children: (
      <>
        <Secret title="The key" text={api_key} purpose={KEY_PURPOSE}>
          {input.grace_period === 0 && (
            <p>The older keys no longer work. The agent is refused until it uses the new key.</p>
          )}
          {input.grace_period !== 0 && (
            <p>
              The old key works until <Time at={old_key_expires_at} />. Give the agent the new key
              before then.
            </p>
          )}
        </Secret>
        <AfterSecret next={`/console/agents/${id}`} />
      </>
    ),
  });
}
