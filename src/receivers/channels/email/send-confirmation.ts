import type { Config, Runtime } from '../../../env';
import { Problem } from '../../../errors';
import { toHex } from '../../../lib/bytes';
import { logFailure } from '../../../lib/log';
import { SECOND } from '../../../lib/time';
import { sendAttempt } from '../../dispatch/send';
import type { SendLimits } from '../send-limits';
import { type AddressOwner, signConfirmationAddress } from './confirmation-address';
import { composeConfirmationMail } from './service-mails';
import { prepareMail } from './transport';

interface Context {
  config: Config;
  runtime: Runtime;
  limits: SendLimits;
}

/**
 * Sends the mail with which a member confirms that an e-mail address is theirs. An address gets one
 * a day, over all accounts.
 * @throws Problem `conflict` if no mail is set up; `rate_limited` if the address got one within 24
 *   hours; `unavailable` if the mail was not sent
 */
export async function sendConfirmation(
  { config, runtime, limits }: Context,
  owner: AddressOwner,
): Promise<void> {
  if (!config.mail)
    throw new Problem('conflict', 'This service has no mail set up. Tell its operator.');
  const next = await limits.countConfirmation(owner.email);
  if (next !== null) {
    throw new Problem(
      'rate_limited',
      'This address got such a mail within the last 24 hours. Look for it, also in spam.',
      {
        headers: { 'Retry-After': `${Math.ceil((next - runtime.now()) / SECOND)}` },
      },
    );
  }
  const mail = composeConfirmationMail(
    owner.email,
    await signConfirmationAddress(config, runtime, owner),
  );
  const key = `confirmation-${toHex(runtime.random(16))}`;
  const result = await sendAttempt(runtime, prepareMail(config.mail, mail, key));
  const error = result.kind === 'made' ? result.attempt.error : result.reason;
  if (error === null) return;
  logFailure('confirmation_mail_failed', error);
  await limits.uncountConfirmation(owner.email);
  throw new Problem('unavailable', 'The mail could not be sent. Try again later.', {
    headers: { 'Retry-After': '60' },
  });
}
