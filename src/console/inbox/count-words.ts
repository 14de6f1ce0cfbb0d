import type { Page } from '../../http/page';
import type { NumberFormat } from '../../lib/number-format';
import { MAX_EXAMINED, type WaitsFor } from '../../permissions/list-waiting';
import { PAGE_SIZE } from '../parts/blocks';

/** How the pages name for whom requests wait. */
export const WHOM: Record<WaitsFor, string> = { caller: 'you', others: 'others' };

/**
 * The title of the document. Where the first page shows what waits for the reader, it has the
 * count, in digits that the script reads.
 */
export function titleOf(
  { data, has_more }: Page<unknown>,
  waitsFor: WaitsFor | undefined,
  isFirst: boolean,
): string {
  if (waitsFor === 'others') return 'Inbox: waiting for others';
  if (waitsFor === undefined || !isFirst || data.length === 0) return 'Inbox';
  return `(${shownCount(String(data.length), has_more)}) Inbox`;
}

/** A count with a plus sign if more follow. */
function shownCount(count: string, hasMore: boolean): string {
  return hasMore ? `${count}+` : count;
}

/** Says how many requests of the page wait for whom; empty on the next pages. */
export function countOf(
  { data, has_more }: Page<unknown>,
  waitsFor: WaitsFor | undefined,
  isFirst: boolean,
  formatNumber: NumberFormat,
): string {
  if (waitsFor === undefined) return '';
  const verb = data.length < 2 ? 'waits' : 'wait';
  const wait = `${verb} for ${WHOM[waitsFor]}.`;
  if (has_more && data.length < PAGE_SIZE) {
    const which = isFirst ? 'the first' : 'the next';
    const count = data.length > 0 ? formatNumber(data.length) : 'none';
    const examined = `${which} ${formatNumber(MAX_EXAMINED)} requests`;
    return `Of ${examined}, ${count} ${wait} More follow.`;
  }
  if (!isFirst) return '';
  return `${shownCount(formatNumber(data.length), has_more)} ${wait}`;
}
