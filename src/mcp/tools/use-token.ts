import * as z from 'zod';
import { Problem } from '../../errors';
import { requireAgent } from '../../http/access';
import { objectField } from '../../http/response-fields';
import { parseId } from '../../lib/typeid';
import { actFields, describeAct } from '../../permissions/contents';
import { findPermission, requirePermission } from '../../permissions/find-permission';
import { statusAt } from '../../permissions/permission';
import { signActiveTokens } from '../../permissions/tokens/sign-active-tokens';
import { useToken } from '../../permissions/tokens/use';
import { TokenUse, UsedToken } from '../../permissions/tokens/use-fields';
import { permissionIdField } from '../permission';
import { defineTool } from '../tool';

export const useTokenTool = defineTool({
  name: 'use_token',
  title: 'Take one use of an approval',
  description:
    'Take one use of the token of your approved permission, right before you act. Act only if this succeeds, once for each ' +
    'use, and stay within granted_scope. If the request had an input, send as input exactly the arguments that you are ' +
    'about to run: other arguments are refused. A use cannot be taken back. If you lost the answer, read the permission ' +
    'with get_permission instead of calling this again.',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  admit: requireAgent,
  input: () => {
    const { action, resource } = TokenUse().shape;
    const { input, input_digest } = actFields();
    return z.strictObject({
      permission_id: permissionIdField(),
      action,
      resource,
      input: input
        .optional()
        .meta({ description: 'The exact arguments that you are about to run.' }),
      input_digest: input_digest
        .optional()
        .meta({ description: 'Their digest, if the arguments stay private.' }),
    });
  },
  output: () => {
    const { action, resource, scope, ...made } = UsedToken().shape;
    return z.object({
      ...made,
      value: z.string().optional().meta({
        description:
          'The token itself, a JWT, while it has uses left. It is a secret: do not show it.',
      }),
      written_by_agent: z.object({ action, resource }),
      written_by_people: z.object({
        granted_scope: objectField.meta({ description: 'The limits to stay within.' }),
      }),
    });
  },
  preload({ account, unvalidatedArguments }) {
    const { permission_id: permissionId } = unvalidatedArguments;
    const id = typeof permissionId === 'string' ? parseId('perm', permissionId) : null;
    return { permission: id && findPermission(account, id) };
  },
  async run({ context, input: { action, resource, ...act }, loaded }) {
    const row = requirePermission(context.principal, loaded.permission?.[0]);
    const now = context.runtime.now();
    const status = statusAt(row, now);
    if (status !== 'approved') {
      const detail = `The permission is ${status}: it has no token. Do not act.`;
      throw new Problem('token_not_active', detail, { members: { reason: 'unknown' } });
    }
    const { inputDigest } = await describeAct(act);
    // Before the use is taken: a failure must not cost it.
    const signed = await signActiveTokens(context, [row], now);
    const { scope, ...used } = await useToken(context, {
      permission: row,
      action,
      resource,
      ...(inputDigest !== null && { input_digest: inputDigest }),
    });
    const { action: usedAction, resource: usedResource, ...made } = used;
    const value = made.remaining_uses > 0 ? signed.get(row.id) : undefined;
    const isReported = row.outcomeState === 'promised';
    return {
      nextStep:
        `You have taken use ${made.uses} of ${row.id}. Act now, once, and stay within granted_scope. ` +
        (made.remaining_uses > 0
          ? `Call use_token again before the next act: ${made.remaining_uses} left.`
          : 'No use is left: ask again before another act.') +
        (isReported ? ' When the act is over, call report_outcome.' : ''),
      data: {
        ...made,
        ...(value !== undefined && { value }),
        written_by_agent: { action: usedAction, resource: usedResource },
        written_by_people: { granted_scope: scope },
      },
    };
  },
});
