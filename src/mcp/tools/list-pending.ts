import { requireUser } from '../../http/access';
import { listPermissions, PermissionList } from '../../permissions/list';
import { ShownPage, showPage } from '../page';
import { defineTool } from '../tool';

export const listPendingTool = defineTool({
  name: 'list_pending',
  title: 'List pending requests',
  description:
    'List the requests of agents that wait for a decision, newest first; expires_at says how long each waits. ' +
    'get_permission has the details of one. No tool decides them: give people the console_url of a request.',
  annotations: { readOnlyHint: true },
  admit: (principal) => requireUser(principal, 'permissions:read'),
  input: () => PermissionList().omit({ status: true, external_id: true }),
  output: ShownPage,
  async run({ context, input }) {
    const page = await listPermissions(context, { ...input, status: 'pending' });
    return {
      nextStep:
        page.data.length === 0
          ? 'No request waits for a decision.'
          : 'No tool decides these requests: a person does so at the console_url of each.',
      data: showPage(page, context.config.publicUrl),
    };
  },
});
