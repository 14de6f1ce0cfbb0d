import type { ErasedEntries } from '../../erasure/erasure-record';
import { formatTime } from '../../lib/time';
import type { LogSigner } from './signer';

/**
 * The first line of the note. A checkpoint cannot have the same: its first line is the name of a
 * log.
 */
const KIND = 'countersign/erasure/v1';

/** Signs the record of an erasure as a note. */
export function signErasure(signer: LogSigner, erased: ErasedEntries): Promise<string> {
  return signRecord(signer, erased, 'erased', erased.erasedAt);
}

/**
 * Signs as a note the record of entries that are no longer shown and wait for their erasure.
 * @param at the time of the head in the proof that has the record, in milliseconds since the epoch
 */
export function signHidden(
  signer: LogSigner,
  hidden: Omit<ErasedEntries, 'erasedAt'>,
  at: number,
): Promise<string> {
  return signRecord(signer, hidden, 'hidden', at);
}

/**
 * Signs a note of five lines: its kind, the log, the reason, what was done and when, the ranges of
 * sequences.
 */
function signRecord(
  signer: LogSigner,
  { account, reason, ranges }: Omit<ErasedEntries, 'erasedAt'>,
  what: 'erased' | 'hidden',
  at: number,
): Promise<string> {
  const origin = signer.originOf(account);
  const sequences = ranges.map(([first, last]) => `${first}-${last}`).join(' ');
  return signer.sign(
    origin,
    `${[KIND, origin, reason, `${what} ${formatTime(at)}`, sequences].join('\n')}\n`,
  );
}
