import type { ErasedEntries, SequenceRanges } from '../../erasure/erasure-record';
import { formatTime } from '../../lib/time';
import type { LogSigner } from './signer';

/** The first line of the note. It differs from that of every checkpoint, which is the name of a log. */
const KIND = 'countersign/erasure/v1';

/** Signs the record of an erasure. */
export function signErasure(signer: LogSigner, erased: ErasedEntries): Promise<string> {
  return signRecord(signer, erased, 'erased', erased.erasedAt);
}

/**
 * Signs the record of entries that are no longer shown and wait for their erasure.
 * @param at the time of the head that the record is shown with, in milliseconds since the epoch
 */
export function signHidden(signer: LogSigner, hidden: Omit<ErasedEntries, 'erasedAt'>, at: number): Promise<string> {
  return signRecord(signer, hidden, 'hidden', at);
}

/** Signs a note of five lines: its kind, the log, the reason, what was done and when, the sequences. */
function signRecord(
  signer: LogSigner,
  { account, reason, ranges }: Omit<ErasedEntries, 'erasedAt'>,
  what: 'erased' | 'hidden',
  at: number,
): Promise<string> {
  const origin = signer.originOf(account);
  const lines = [KIND, origin, reason, `${what} ${formatTime(at)}`, formatRanges(ranges)];
  return signer.sign(origin, `${lines.join('\n')}\n`);
}

function formatRanges(ranges: SequenceRanges): string {
  return ranges.map(([first, last]) => `${first}-${last}`).join(' ');
}
