import type { Clock } from '../clock.ts';
import type { Operations } from '../operations.ts';

/** The part of the client that a guard needs. */
export interface GuardClient
  extends Pick<
    Operations,
    'requestPermission' | 'getPermission' | 'withdrawPermission' | 'useToken' | 'reportOutcome'
  > {
  readonly baseUrl: string;
  readonly clock: Clock;
}
