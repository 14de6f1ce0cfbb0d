import { createHash, randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Api, type ApiAnswer, type ProblemDocument } from '../../api.ts';
import { ROOT, readJsonFile, writeJsonFile } from '../../project.ts';
import { UserError } from '../../user-error.ts';
import type { Deployment, Step } from '../deployment.ts';
import { readSecrets, SECRETS_FILE } from './secrets.ts';

const CREATION = '/v1/admin/users';

/** For how many milliseconds the service repeats the answer to an idempotency key. */
const REPEATABLE = 24 * 60 * 60_000;

/** The invitation of an account's owner. */
export interface Invitation {
  email: string;
  url: string;
  expiresAt: string;
}

/** The parts of the answer to the creation of an account that are used. */
interface CreatedAccount {
  id: string;
  owner: { invitation: { url: string; expires_at: string } };
}

/** A request whose answer was not shown yet, as it is stored: only its idempotency key brings that answer again. */
interface PendingRequest {
  email: string;
  plan: string;
  key: string;
}

/**
 * Makes the first account, unless there is one for the address, and gives the invitation of its owner to `show`.
 *
 * If the answer is lost, or the program ends before it has shown the invitation, the next run gets the same answer: the
 * service repeats it for a day. The account's user token in it is not shown: nobody needs it, and the operator can make
 * another one.
 */
export function firstAccountStep(
  { options: { email, plan }, address: { origin } }: Deployment,
  show: (invitation: Invitation) => void,
): Step {
  let invitation: Invitation | null = null;
  return {
    kind: 'account',
    name: email ?? '',
    isDone: false,
    run: async () => {
      const token = process.env.ADMIN_TOKEN || readSecrets().ADMIN_TOKEN;
      if (email === null || !token)
        throw new UserError(
          `${SECRETS_FILE} has no ADMIN_TOKEN. Whoever deployed the service has it: set ADMIN_TOKEN.`,
        );
      const api = new Api(origin, token);
      const query = new URLSearchParams({ email, limit: '1' });
      const list = api.ask<{ data: { id: string; created_at: string }[] }>('GET', `${CREATION}?${query}`);
      const account = (await requireSuccess(list)).data[0];
      const isRecent = account && Date.now() - Date.parse(account.created_at) < REPEATABLE;
      const pending = readJsonFile<PendingRequest>(pendingFile(email));
      if (account && !(isRecent && pending)) return { note: account.id, isUnchanged: true };
      const request = pending ?? { email, plan, key: randomUUID() };
      writeJsonFile(pendingFile(email), request);
      const body = { email, plan: request.plan };
      const made = api.ask<CreatedAccount>('POST', CREATION, body, request.key);
      const { id, owner } = await requireSuccess(made);
      invitation = { email, url: owner.invitation.url, expiresAt: owner.invitation.expires_at };
      return { note: `${id}, plan ${request.plan}` };
    },
    finish: () => {
      if (invitation) show(invitation);
      if (email !== null) rmSync(pendingFile(email), { force: true });
    },
  };
}

/** Each address has its own file, so that a run for one does not lose the invitation of another. */
function pendingFile(email: string): string {
  return join(ROOT, '.wrangler/first-accounts', `${createHash('sha256').update(email).digest('hex')}.json`);
}

/** @throws UserError if the service refuses a request or does not answer it */
async function requireSuccess<T>(request: Promise<ApiAnswer<T>>): Promise<T> {
  const { status, body } = await request.catch((error) => {
    throw error instanceof TypeError ? new UserError('The service did not answer.') : error;
  });
  if (status < 300) return body;
  const { detail = '' } = (body ?? {}) as Partial<ProblemDocument>;
  const hint = status === 401 ? `\nThe operator token in ${SECRETS_FILE} is not the one of the service.` : '';
  throw new UserError(`The service answered ${status}: ${detail}${hint}`);
}
