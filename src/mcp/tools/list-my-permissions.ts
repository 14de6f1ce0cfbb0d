import { requireAgent } from '../../http/access';
import { listPermissions, PermissionList } from '../../permissions/list';
import { ShownPage, showPage } from '../page';
import { defineTool } from '../tool';

export const listMyPermissionsTool = defineTool({
  name: 'list_my_permissions',
  title: 'List my permissions',
  description:
    'List the permissions that you asked for, newest first, without inputs, previews and token values: get_permission ' +
    'has those.',
  annotations: { readOnlyHint: true },
  admit: requireAgent,
  input: () => PermissionList().omit({ agent_id: true, decided_by: true }),
  output: ShownPage,
  async run({ context, input }) {
    const page = await listPermissions(context, input);
    return {
      nextStep:
        'Call wait_for_decision for a pending one, and use_token before you act on an approved one.',
      data: showPage(page, context.config.publicUrl),
    };
  },
});
