import type { Content } from 'pdfmake/js/Printer.js';
import type { Finding } from '../report';
import { countOf, formatNumber } from './format';

/** How many of the entries behind a sentence are named. */
const SHOWN = 20;

/** The ids of the entries behind a sentence, and how many of them there are. */
export function entriesBehind({ entries, entry_ids: ids }: Pick<Finding, 'entries' | 'entry_ids'>): Content {
  const total = countOf(entries, 'entry', 'entries');
  const shown = ids.slice(0, SHOWN);
  if (shown.length === 0) return { text: total, style: 'small' };
  const which = shown.length < entries ? `, of which ${formatNumber(shown.length)}` : '';
  return { text: `${total}${which}: ${shown.join(', ')}`, style: 'small' };
}
