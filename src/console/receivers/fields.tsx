import type { Child } from 'hono/jsx';
import type { Reader, RequestContext } from '../../http/context';
import type { CallerSql } from '../../identity/credentials';
import { selectAgents } from '../../receivers/named-agents';
import { readForm } from '../frame/form';
import { agentsOf } from '../frame/names';
import { usePage } from '../frame/page-context';
import { CheckBox, FieldGroup } from '../parts/fields';
import { Named } from '../parts/inline';

/** Events with what each one means. */
export type EventMeanings<E extends string> = readonly (readonly [event: E, meaning: string])[];

/** Preloads the form's agents, without those that the account does not have. */
export async function preloadFormAgents(c: RequestContext, reader: Reader, { account }: CallerSql) {
  return { agents: selectAgents(reader, account, (await readForm(c)).list('agent_ids')) };
}

/** The events of a webhook or channel in words. */
export function eventsText<E extends string>(
  known: EventMeanings<E>,
  events: readonly E[],
): string {
  if (known.every(([event]) => events.includes(event))) return 'All events';
  return events.join(', ');
}

/** The agents to which a webhook or channel is limited, in words. */
export function agentsInWords(agentIds: readonly string[] | null | undefined): string {
  if (!agentIds) return 'all agents';
  return `limited to ${agentIds.length} of the agents`;
}

/**
 * The texts and addresses of the form that changes a webhook or channel, or creates one if there is
 * none yet.
 * @param parameters the parameters of the page that creates one
 */
export function receiverForm(
  noun: 'webhook' | 'channel',
  receiver: { id: string } | null,
  parameters: Record<string, string> = {},
) {
  const list = `/console/${noun}s`;
  if (!receiver) {
    const query = new URLSearchParams(parameters);
    return {
      title: `Create a ${noun}`,
      label: `Create the ${noun}`,
      path: list,
      action: list,
      page: `${list}/new?${query}`,
    };
  }
  const path = `${list}/${receiver.id}`;
  const page = `${path}/edit`;
  return { title: `Change the ${noun}`, label: 'Save the changes', path, action: page, page };
}

/** Check boxes for events. */
export function EventFields({
  known,
  events,
}: {
  known: EventMeanings<string>;
  events: readonly string[];
}) {
  const faultText = events.length === 0 ? 'Check at least one event.' : undefined;
  return (
    <FieldGroup legend="Events" path="events" faultText={faultText}>
      {known.map(([event, meaning]) => (
        <CheckBox
          name="events"
          value={event}
          checked={events.includes(event)}
          label={[meaning, ' ', <small class="line">{event}</small>]}
        />
      ))}
    </FieldGroup>
  );
}

interface AgentChoicesProps {
  /** The path of the list in the API's errors. */
  path: string;
  agentIds: readonly string[];
  hint: Child;
}

/** Check boxes for agents: those that the page names, and those that are chosen already. */
export function AgentChoices({ path, agentIds, hint }: AgentChoicesProps) {
  const ids = new Set([...agentsOf(usePage().names).map(([id]) => id), ...agentIds]);
  if (ids.size === 0) return null;
  return (
    <FieldGroup legend="Agents" path={path}>
      <p class="hint">{hint}</p>
      <div class="choices">
        {[...ids].map((id) => (
          <CheckBox
            name="agent_ids"
            value={id}
            checked={agentIds.includes(id)}
            label={<Named id={id} isShort />}
          />
        ))}
      </div>
    </FieldGroup>
  );
}
