/** What the states of resources mean to the reader: good, bad, waiting or neither. */
const TONES: Record<string, 'good' | 'bad' | 'waiting' | 'neutral'> = {
  pending: 'waiting',
  approved: 'good',
  denied: 'bad',
  expired: 'neutral',
  active: 'good',
  used: 'neutral',
  revoked: 'bad',
  invited: 'waiting',
  suspended: 'bad',
  removed: 'neutral',
  approve: 'good',
  deny: 'bad',
  review: 'waiting',
  queued: 'waiting',
  processing: 'waiting',
  completed: 'good',
  failed: 'bad',
  succeeded: 'good',
  on: 'good',
  off: 'neutral',
};

/** A state in one word. The word says it; the colour only repeats it. */
export function Badge({ state, label = state }: { state: string; label?: string }) {
  return <span class={`badge ${TONES[state] ?? 'neutral'}`}>{label}</span>;
}
