import type { SQL } from 'drizzle-orm';
import type { Child } from 'hono/jsx';
import type { Reader } from '../../db/database';
import type { RequestContext } from '../../http/context';
import { selectAgents } from '../../webhooks/webhook';
import { readForm } from '../frame/form';
import { agentsOf } from '../frame/names';
import { usePage } from '../frame/page-context';
import { CheckBox, FieldGroup } from '../parts/form';
import { Named } from '../parts/inline';

/** Events with what each one means. */
export type EventMeanings<E extends string> = readonly (readonly [event: E, meaning: string])[];

/** Preloads the form's agents, without those that the account does not have. */
export async function preloadFormAgents(c: RequestContext, reader: Reader, account: SQL<number>) {
  return { agents: selectAgents(reader, account, (await readForm(c)).list('agent_ids')) };
}

/** The events of a webhook or channel in words. */
export function eventsText<E extends string>(
  known: EventMeanings<E>,
  events: readonly E[],
): string {
  return known.every(([event]) => events.includes(event)) ? 'All events' : events.join(', ');
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

interface AgentFieldsProps {
  /** The path of the list in the API's errors. */
  path: string;
  agentIds: readonly string[];
  hint: Child;
}

/** Check boxes for agents: those that the page names, and those that are chosen already. */
export function AgentFields({ path, agentIds, hint }: AgentFieldsProps) {
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
