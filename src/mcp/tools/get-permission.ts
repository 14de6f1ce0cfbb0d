import * as z from 'zod';
import { requireAgentOrUser } from '../../http/access';
import { findPermissionWithContents } from '../../permissions/contents';
import { getPermission } from '../../permissions/get';
import { answerPermission, permissionIdField, ShownPermission } from '../permission';
import { defineTool } from '../tool';

export const getPermissionTool = defineTool({
  name: 'get_permission',
  title: 'Get a permission',
  description:
    'Read one permission with everything that was asked and decided. An agent sees only its own permissions, with their ' +
    'active tokens.',
  annotations: { readOnlyHint: true },
  admit: (principal) => requireAgentOrUser(principal, 'permissions:read'),
  input: () => z.strictObject({ permission_id: permissionIdField() }),
  output: () => z.object({ permission: ShownPermission() }),
  preload: ({ account, unvalidatedArguments, now }) => ({
    permission: findPermissionWithContents(account, unvalidatedArguments.permission_id, now),
  }),
  async run({ context, loaded, reload, clock }) {
    const reading = { ...context, clock, reload: async () => (await reload()).permission?.[0] };
    return answerPermission(
      context,
      await getPermission(reading, { permission: loaded.permission?.[0], wait: 0 }),
    );
  },
});
