import * as z from 'zod';
import { requireAgent } from '../../http/access';
import { PermissionRequest } from '../../permissions/requests/permission-request';
import {
  readLoaded,
  requestPermission,
  selectForRequest,
} from '../../permissions/requests/request';
import { answerPermission, ShownPermission } from '../permission';
import { defineTool } from '../tool';

export const requestPermissionTool = defineTool({
  name: 'request_permission',
  title: 'Request permission',
  description:
    'Ask for permission before an act. Say exactly what you want to do: action and resource, ' +
    'limits in scope, why in reason, the exact arguments of the act in input, and for the people ' +
    'who decide a preview. Give an external_id, such as the id of the tool call: then asking again ' +
    'finds the same request instead of making another one. Before many acts of one kind, say in ' +
    'series how many: a person may then approve them at once, but each still needs its own ' +
    'request. The answer may be decided already. pending: call wait_for_decision. approved: call ' +
    'use_token right before you act, with exactly the same input. With reports_outcome, call ' +
    'report_outcome after the act. denied: do not act, do not try again or in another way, and ' +
    'tell your user.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  admit: requireAgent,
  input: PermissionRequest,
  output: () =>
    z.object({
      is_new: z.boolean().meta({ description: 'Whether this call made the request.' }),
      permission: ShownPermission(),
    }),
  preload: ({ account, callerId, unvalidatedArguments, now }) =>
    selectForRequest({ account, agentId: callerId, body: unvalidatedArguments }, now),
  async run({ context, input, loaded, reload }) {
    const asking = { ...context, reload: async () => readLoaded(await reload()) };
    const known = { ...readLoaded(loaded), ...input };
    const { permission, isNew } = await requestPermission(asking, known);
    const { nextStep, data } = answerPermission(context, permission);
    return { nextStep, data: { is_new: isNew, ...data } };
  },
});
