import * as z from 'zod';
import { requireAgent } from '../../http/access';
import { wholeNumber } from '../../http/fields';
import { findPermissionWithContents } from '../../permissions/contents';
import { getPermission, MAX_WAIT } from '../../permissions/get';
import { answerPermission, permissionIdField, ShownPermission } from '../permission';
import { defineTool } from '../tool';

export const waitForDecisionTool = defineTool({
  name: 'wait_for_decision',
  title: 'Wait for the decision',
  description:
    `Wait up to ${MAX_WAIT} seconds until a pending permission of yours is decided. If it is still pending then, call it ` +
    'again; after some minutes tell your user that you are waiting.',
  annotations: { readOnlyHint: true },
  admit: requireAgent,
  input: () =>
    z.strictObject({
      permission_id: permissionIdField(),
      seconds: wholeNumber(0, MAX_WAIT)
        .default(MAX_WAIT)
        .meta({ description: 'The greatest number of seconds to wait.' }),
    }),
  output: () => z.object({ permission: ShownPermission() }),
  preload: ({ account, unvalidatedArguments, now }) => ({
    permission: findPermissionWithContents(account, unvalidatedArguments.permission_id, now),
  }),
  async run({ context, input, loaded, reload, clock }) {
    const waiting = { ...context, clock, reload: async () => (await reload()).permission?.[0] };
    return answerPermission(
      context,
      await getPermission(waiting, { permission: loaded.permission?.[0], wait: input.seconds }),
    );
  },
});
