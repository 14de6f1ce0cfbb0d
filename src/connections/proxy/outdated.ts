import { RulingOutdated } from '../../permissions/requests/ruling';
import { CallKnown } from './earlier-calls';
import { ConnectionChanged } from './guards';

/** Whether a write failed because what the call was decided by has changed since it was read. */
export function isOutdated(error: unknown): boolean {
  return (
    error instanceof RulingOutdated ||
    error instanceof CallKnown ||
    error instanceof ConnectionChanged
  );
}
