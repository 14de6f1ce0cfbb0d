import type { Config, Runtime } from '../../env';
import type { SendLimits } from './send-limits';

/** With what a channel is opened. */
export interface ChannelContext {
  shard: string;
  config: Config;
  runtime: Runtime;
  limits: SendLimits;
}
