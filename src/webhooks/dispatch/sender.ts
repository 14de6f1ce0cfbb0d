import type { Runtime } from '../../env';
import { retentionDays } from '../../lib/plans';
import { findTargetFault, isLoopback } from '../../lib/target';
import { DAY } from '../../lib/time';
import { attempt, type Outcome } from './attempt';
import type { DispatchContext } from './context';
import { type DueDelivery, messageId, messageOf } from './due';
import type { LeasedWebhook } from './lease';
import { findNameFault } from './name-lookup';
import { Signer } from './signature';

const USER_AGENT = 'Countersign-Webhooks/1.0';

/** Sends deliveries to one webhook: each is tried once. */
export class Sender {
  private constructor(
    private readonly runtime: Runtime,
    private readonly url: string,
    private readonly keptFrom: number,
    /** Null where nothing may be sent, for the reason that `fault` tells. */
    private readonly signer: Signer | null,
    private readonly fault: string,
    /** Milliseconds that it took to judge. */
    readonly delay: number,
  ) {}

  /** Judges where a webhook leads to at this moment, and reads its secrets. */
  static async open({ runtime, config }: DispatchContext, { row, owner }: LeasedWebhook): Promise<Sender> {
    const now = runtime.now();
    const signer = await Signer.open(config.keyring, row, now);
    const fault = signer ? await findFault({ runtime, config }, row.url) : UNREADABLE_SECRET;
    const keptFrom = now - retentionDays(owner) * DAY;
    return new Sender(runtime, row.url, keptFrom, fault === null ? signer : null, fault ?? '', runtime.now() - now);
  }

  /** Tries a delivery; null when what it tells of is gone. */
  async send(delivery: DueDelivery): Promise<Outcome | null> {
    const { runtime, signer } = this;
    const body = messageOf(delivery, this.keptFrom);
    if (body === null) return null;
    const now = runtime.now();
    if (!signer) return { at: now, duration: 0, statusCode: null, error: this.fault, retryAfter: null };
    const signed = await signer.sign(messageId(delivery), now, body);
    return attempt(
      runtime,
      this.url,
      { 'Content-Type': 'application/json', 'User-Agent': USER_AGENT, ...signed },
      body,
    );
  }
}

const UNREADABLE_SECRET = 'The secret of the webhook cannot be read any more. Rotate it.';

/** Why nothing may be sent to an address; null when something may. */
async function findFault({ runtime, config }: Pick<DispatchContext, 'runtime' | 'config'>, url: string) {
  const { allowInsecure, resolvesNames: looksUpNames } = config.webhooks;
  const fault = findTargetFault(url, allowInsecure);
  if (fault) return `The URL ${fault}.`;
  const { hostname } = new URL(url);
  return looksUpNames && !isLoopback(hostname) ? findNameFault(runtime, hostname) : null;
}
