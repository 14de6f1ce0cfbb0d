import type { Reader } from '../db/database';
import type { Config, Runtime } from '../env';
import type { Ledger } from '../ledger/ledger';
import type { SendLimits } from './channels/send-limits';

/**
 * The services and settings with which a worker handles one message of the queue. A worker is one
 * invocation of the consumer.
 */
export interface DispatchContext {
  shard: string;
  reader: Reader;
  ledger: Ledger;
  runtime: Runtime;
  config: Config;
  limits: SendLimits;
}
