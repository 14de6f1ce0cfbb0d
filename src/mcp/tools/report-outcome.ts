import * as z from 'zod';
import { requireAgent } from '../../http/access';
import { parseId } from '../../lib/typeid';
import { findReviewedPermission } from '../../permissions/find-permission';
import { OutcomeReport, reportOutcome } from '../../permissions/outcomes/report';
import { permissionIdField, ShownPermission, showPermission } from '../permission';
import { defineTool } from '../tool';

export const reportOutcomeTool = defineTool({
  name: 'report_outcome',
  title: 'Report the outcome',
  description:
    'Say what happened after use_token, if the request said reports_outcome: succeeded, failed if you saw an error, or ' +
    'unknown if you cannot tell. Call it within 10 minutes; after that the outcome is shown as unknown. Never say ' +
    'succeeded unless you saw that it did. The same report again changes nothing; another one is refused, except after ' +
    'unknown.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
  admit: requireAgent,
  input: () => z.strictObject({ permission_id: permissionIdField(), ...OutcomeReport().shape }),
  output: () => z.object({ permission: ShownPermission() }),
  preload({ account, unvalidatedArguments, now }) {
    const { permission_id: permissionId } = unvalidatedArguments;
    const id = typeof permissionId === 'string' ? parseId('perm', permissionId) : null;
    return { permission: id && findReviewedPermission(account, id, now) };
  },
  async run({ context, input: { permission_id: _, ...report }, loaded, reload }) {
    const reporting = { ...context, reload: async () => (await reload()).permission?.[0] };
    const preloaded = { permission: loaded.permission?.[0] };
    const permission = await reportOutcome(reporting, { ...preloaded, ...report });
    return {
      nextStep: `${permission.id}: the outcome ${report.status} is recorded. Tell your user what happened.`,
      data: { permission: showPermission(permission, context.config.publicUrl) },
    };
  },
});
