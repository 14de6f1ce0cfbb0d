import { Hono } from 'hono';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { body, NoFields, noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { NOT_STOPPED } from '../account';
import { changeStop } from './change-stop';
import { StopState } from './stop';

/**
 * Resumes the account: what was approved before the stop and has not expired is valid again. Writes
 * nothing if the account is not stopped. Does not check the scope; callers do.
 */
export async function resumeAccount(context: UserContext): Promise<StopState> {
  await changeStop(context, 'account.resumed', NOT_STOPPED);
  return { stopped: null };
}

export const resumeAccountRoute = new Hono().post(
  '/v1/me/resume',
  operation({
    id: 'resumeAccount',
    tag: 'Account',
    summary: 'Resume your account after a stop',
    description: 'Approvals from before the stop that have not expired are valid again.',
    success: ok(StopState),
  }),
  userAccess('account:write', undefined, { ignoresKey: true }),
  noQuery(),
  body(NoFields),
  async (c) => answer(c, await resumeAccount(c.var.context)),
);
