import * as z from 'zod';
import { lazy } from '../../lib/lazy';
import { policyFields } from '../../policies/fields';
import { agentIds } from '../named-agents';

/** Limits a channel, or one of its Slack channels, to the events of some permissions. */
export const ChannelFilter = lazy(() =>
  z
    .strictObject({
      actions: policyFields().actions.nullish(),
      agent_ids: agentIds().nullish(),
    })
    .meta({
      id: 'ChannelFilter',
      description:
        'Limits the notifications to permissions of these agents, for actions that match a pattern. A list that is null or ' +
        'left out limits nothing.',
      examples: [{ actions: ['payment.*'] }],
    }),
);

/** A filter as answers show it: without the lists that limit nothing. */
export interface ShownFilter {
  actions?: string[];
  agent_ids?: string[];
}

/** Shows a filter; null if it limits nothing. */
export function presentFilter(
  filter:
    | { actions?: string[] | null | undefined; agent_ids?: string[] | null | undefined }
    | null
    | undefined,
): ShownFilter | null {
  const { actions, agent_ids } = filter ?? {};
  return actions || agent_ids
    ? { ...(actions && { actions }), ...(agent_ids && { agent_ids }) }
    : null;
}
