import type { RecentDeliveries } from '../../receivers/deliveries/count-recent';
import { pluralOf } from '../parts/words';

const NONE: RecentDeliveries = { succeeded: 0, failed: 0, retried: 0 };

/** How the newest deliveries of a webhook or channel ended, in a line. */
export function RecentResults({ recent = NONE }: { recent: RecentDeliveries | undefined }) {
  const hasFailed = recent.failed + recent.retried > 0;
  return <p class={hasFailed ? 'fault' : 'soft'}>{recentText(recent)}</p>;
}

function recentText({ succeeded, failed, retried }: RecentDeliveries): string {
  const ended = succeeded + failed;
  if (ended + retried === 0) return 'Nothing was delivered yet';
  if (ended === 0) return retriedText(retried, pluralOf(retried, 'delivery', 'deliveries'));
  if (retried === 0) return endedText(ended, failed);
  return `${endedText(ended, failed)}; ${retriedText(retried, 'more')}`;
}

function retriedText(retried: number, noun: string): string {
  return `${retried} ${noun} failed and will be tried again`;
}

function endedText(ended: number, failed: number): string {
  if (failed > 0) return `${failed} of the last ${ended} deliveries failed`;
  if (ended === 1) return 'The last delivery succeeded';
  return `The last ${ended} deliveries succeeded`;
}
