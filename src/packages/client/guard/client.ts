import type { Clock } from '../clock.ts';
import type { Operations } from '../operations.ts';

/** What a guard needs of the client. */
export interface GuardClient
  extends Pick<
    Operations,
    'requestPermission' | 'getPermission' | 'withdrawPermission' | 'useToken'
  > {
  readonly baseUrl: string;
  readonly clock: Clock;
}
