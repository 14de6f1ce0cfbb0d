import type { Content } from 'pdfmake/js/Printer.js';
import type { Finding } from '../report';
import { countOf, formatNumber } from './format';

/** The ids of the entries behind a sentence, and how many of them there are. */
export function entriesBehind({ entries, entry_ids: ids }: Pick<Finding, 'entries' | 'entry_ids'>): Content {
  const total = countOf(entries, 'entry', 'entries');
  if (ids.length === 0) return { text: total, style: 'small' };
  const which = ids.length < entries ? `, of which ${formatNumber(ids.length)}` : '';
  return { text: `${total}${which}: ${ids.join(', ')}`, style: 'small' };
}
