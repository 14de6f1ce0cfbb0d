import { createHash, randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { AccountCreation } from '../../../packages/client/api.ts';
import { Countersign } from '../../../packages/client/countersign.ts';
import { ApiError, ConnectionError } from '../../../packages/client/errors.ts';
import { ROOT, readJsonFile, writeJsonFile } from '../../project.ts';
import { UserError } from '../../user-error.ts';
import type { Deployment, Step } from '../deployment.ts';
import { readSecrets, SECRETS_FILE } from './secrets.ts';

/** Milliseconds for which the service repeats the answer to an idempotency key. */
const REPEATABLE = 24 * 60 * 60_000;

/** The invitation of an account's owner. */
export interface Invitation {
  email: string;
  url: string;
  expiresAt: string;
}

/**
 * A request whose answer was not shown yet, as it is stored: only its idempotency key brings that
 * answer again.
 */
interface PendingRequest {
  email: string;
  plan: string;
  key: string;
}

/**
 * Makes the first account, unless there is one for the address, and gives the invitation of its
 * owner to `show`.
 *
 * If the answer is lost, or the program ends before it has shown the invitation, the next run gets
 * the same answer: the service repeats it for a day. The account's user token in it is not shown:
 * nobody needs it, and the operator can make another one.
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
      const operator = new Countersign({ baseUrl: origin, apiKey: token });
      const [account] = (
        await operator.listAccounts({ email, limit: 1 }).then(null, explainFailure)
      ).data;
      const isRecent = account && Date.now() - Date.parse(account.created_at) < REPEATABLE;
      const pending = readJsonFile<PendingRequest>(pendingFile(email));
      if (account && !(isRecent && pending)) return { note: account.id, isUnchanged: true };
      const request = pending ?? { email, plan, key: randomUUID() };
      writeJsonFile(pendingFile(email), request);
      const wanted = { email, plan: request.plan as NonNullable<AccountCreation['plan']> };
      const made = operator.createAccount(wanted, { idempotencyKey: request.key });
      const { id, owner } = await made.catch(explainFailure);
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
  return join(
    ROOT,
    '.wrangler/first-accounts',
    `${createHash('sha256').update(email).digest('hex')}.json`,
  );
}

/** @throws UserError if the service refused a request or did not answer it */
function explainFailure(error: unknown): never {
  if (error instanceof ConnectionError) throw new UserError('The service did not answer.');
  if (!(error instanceof ApiError)) throw error;
  const hint =
    error.status === 401
      ? `\nThe operator token in ${SECRETS_FILE} is not the one of the service.`
      : '';
  throw new UserError(`The service answered ${error.status}: ${error.detail}${hint}`);
}
