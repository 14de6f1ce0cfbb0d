import type { RecentDeliveries } from '../../webhooks/deliveries/count-recent';

const NONE: RecentDeliveries = { succeeded: 0, failed: 0, retried: 0 };

/** How the newest deliveries of a webhook or channel ended, in a line. */
export function RecentResults({ recent = NONE }: { recent: RecentDeliveries | undefined }) {
  return <p class={recent.failed + recent.retried > 0 ? 'fault' : 'soft'}>{recentText(recent)}</p>;
}

function recentText({ succeeded, failed, retried }: RecentDeliveries): string {
  const ended = succeeded + failed;
  const noun = ended > 0 ? 'more' : retried === 1 ? 'delivery' : 'deliveries';
  const waiting = retried > 0 ? `${retried} ${noun} failed and will be tried again` : null;
  if (ended === 0) return waiting ?? 'Nothing was delivered yet';
  return [endedText(ended, failed), waiting].filter((text) => text !== null).join('; ');
}

function endedText(ended: number, failed: number): string {
  if (failed === 0)
    return ended === 1 ? 'The last delivery succeeded' : `The last ${ended} deliveries succeeded`;
  return `${failed} of the last ${ended} deliveries failed`;
}
