import type { Reader } from '../../db/database';
import type { Runtime, WebhookConfig } from '../../env';
import type { Ledger } from '../../ledger/ledger';
import type { Keyring } from '../../lib/secrets';

/** Everything that sending to webhooks takes. */
export interface DispatchContext {
  reader: Reader;
  ledger: Ledger;
  runtime: Runtime;
  config: { keyring: Keyring; webhooks: WebhookConfig };
}
