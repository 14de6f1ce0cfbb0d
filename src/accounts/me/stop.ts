import { eq } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { accounts } from '../../db/schema';
import { notFound, unavailable } from '../../errors';
import { userAccess } from '../../http/access';
import type { Scope, UserContext } from '../../http/context';
import { EXAMPLE, exampleId } from '../../http/examples';
import { text } from '../../http/fields';
import { body, noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { presentStop, Stop } from '../account';
import { changeStop } from './change-stop';

/** The scopes that allow a stop. One of them is enough. */
export const STOP_SCOPES: readonly Scope[] = ['permissions:decide', 'account:write'];

/** How often a stop is tried while others stop and resume the account at the same time. */
const MAX_TRIES = 5;

export const StopRequest = lazy(() =>
  z
    .strictObject({
      reason: text(0, 1_000).optional().meta({ description: 'Why, for everybody who reads it.' }),
    })
    .meta({ id: 'StopRequest', examples: [{ reason: 'The bot mails everybody' }] }),
);

export const StopState = lazy(() =>
  z.object({ stopped: Stop().nullable() }).meta({
    id: 'StopState',
    description: 'Whether your account is stopped.',
    examples: [
      { stopped: { at: EXAMPLE.time, by: exampleId('member'), reason: 'The bot mails everybody' } },
    ],
  }),
);

export type StopState = LazyOutput<typeof StopState>;

/**
 * Stops the account: until it is resumed, nothing is requested, approved or used. If it is stopped
 * already, returns that stop and writes nothing. Does not check the scope; callers do.
 * @throws Problem `not_found` if the account was deleted meanwhile
 */
export async function stopAccount(
  context: UserContext,
  { reason }: LazyOutput<typeof StopRequest>,
): Promise<StopState> {
  const { reader, runtime, principal } = context;
  const { account, member } = principal;
  const stop = {
    stoppedAt: runtime.now(),
    stoppedBy: member?.id ?? null,
    stopReason: reason || null,
  };
  const isAccount = eq(accounts.number, account.number);
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    if (await changeStop(context, 'account.stopped', stop))
      return { stopped: presentStop({ id: account.id, ...stop }) };
    const [[row]] = await reader.load([reader.select().from(accounts).where(isAccount)]);
    if (!row) throw notFound('account');
    const stopped = presentStop(row);
    if (stopped) return { stopped };
  }
  throw unavailable();
}

export const stopAccountRoute = new Hono().post(
  '/v1/me/stop',
  operation({
    id: 'stopAccount',
    tag: 'Account',
    summary: 'Stop every agent of your account',
    description:
      'From then on nothing is requested, approved or used, until somebody resumes the account. Denials, withdrawals, ' +
      'revocations and reads go on. Nothing is revoked. A token that somebody checks offline is not stopped. If the ' +
      'account is stopped already, the answer is that stop.',
    success: ok(StopState),
    problems: ['not_found'],
  }),
  userAccess(STOP_SCOPES, undefined, { ignoresKey: true }),
  noQuery(),
  body(StopRequest),
  async (c) => answer(c, await stopAccount(c.var.context, c.req.valid('json'))),
);
