import { deleteAgent } from '../../agents/delete';
import { AgentUpdate, updateAgent } from '../../agents/update';
import { invalidRequest } from '../../errors';
import { readForm, refusalOf, validate } from '../frame/form';
import { requireUnchanged, requireUnchangedToActivate } from '../frame/shown-state';
import { visibleText } from '../parts/text';
import { type AgentContext, requireAgent, sendAgent } from './agent';

/** The owner as it is now, whose name is among the facts of the page. */
const OWNER_AT_TOP = 'the one at the top of the page';

/** Changes what the form says differently about an agent, unless somebody changed the agent since the form was shown. */
export async function editAgent(c: AgentContext): Promise<Response> {
  const { id, name, description = '', owner_id, updated_at } = requireAgent(c);
  const form = await readForm(c);
  const present = { name, description, owner_id: owner_id ?? '' };
  const differing = Object.entries(present).filter(([field, value]) => form.text(field) !== value);
  if (differing.length > 0) {
    const fields = Object.fromEntries(differing.map(([field]) => [field, form.text(field)]));
    try {
      requireUnchanged('agent', form, updated_at, { name, description, owner_id: OWNER_AT_TOP }, fields);
      await updateAgent(c.var.signedIn.context, { id, ...validate(AgentUpdate(), fields) });
    } catch (error) {
      return sendAgent(c, { form: 'edit', refusal: refusalOf(error), typed: form.typed });
    }
  }
  return c.redirect(`/console/agents/${id}`, 303);
}

/** Switches an agent on or off: on, only if nobody changed it since the page was shown. */
export async function switchAgent(c: AgentContext): Promise<Response> {
  const { id, updated_at } = requireAgent(c);
  const form = await readForm(c);
  const isActive = form.text('is_active') === 'true';
  try {
    if (isActive) requireUnchangedToActivate('agent', form, updated_at);
    await updateAgent(c.var.signedIn.context, { id, is_active: isActive });
  } catch (error) {
    return sendAgent(c, { form: 'switch', refusal: refusalOf(error), typed: form.typed });
  }
  return c.redirect(`/console/agents/${id}`, 303);
}

/** Deletes an agent whose name was typed to confirm that. */
export async function removeAgent(c: AgentContext): Promise<Response> {
  const { id, name } = requireAgent(c);
  const form = await readForm(c);
  try {
    if (visibleText(form.text('confirmation')) !== visibleText(name)) {
      throw invalidRequest([{ path: 'body.confirmation', message: 'is not the name of the agent' }]);
    }
    await deleteAgent(c.var.signedIn.context, { id });
  } catch (error) {
    return sendAgent(c, { form: 'delete', refusal: refusalOf(error), typed: form.typed });
  }
  return c.redirect('/console/agents', 303);
}
