import { duration } from '../../lib/duration';
import { MINUTE } from '../../lib/time';

/** Shows the times of the page in the reader's zone, and how much time is left until now. */
export function localizeTimes(root: ParentNode): void {
  for (const time of root.querySelectorAll<HTMLTimeElement>('time[datetime]')) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const end = 'seconds' in time.dataset ? 19 : 16;
    time.title = `${format(time, at)}, ${time.dateTime.slice(0, end).replace('T', ' ')} UTC`;
    time.textContent = textOf(time, at);
  }
}

function textOf(time: HTMLTimeElement, at: Date): string {
  const left = at.getTime() - Date.now();
  if ('left' in time.dataset) {
    time.classList.toggle('urgent', left < 10 * MINUTE);
    return left > 0 ? `${duration(left)} left` : 'expired';
  }
  if ('since' in time.dataset) return `${duration(Math.max(0, -left))} ago`;
  return format(time, at);
}

function format({ dataset }: HTMLTimeElement, at: Date): string {
  const text = at.toLocaleString(undefined, {
    dateStyle: 'medium',
    timeStyle: 'seconds' in dataset ? 'medium' : 'short',
  });
  return 'zone' in dataset ? `${text} ${zoneNameAt(at)}` : text;
}

/** The short name of the reader's time zone at a time, such as `CET`, or `GMT+9`. */
function zoneNameAt(at: Date): string {
  const parts = new Intl.DateTimeFormat(undefined, { timeZoneName: 'short' }).formatToParts(at);
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
}

/** Fills in the reader's time zone where a field for one is empty. */
export function fillInTimeZone(root: ParentNode): void {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  for (const field of root.querySelectorAll<HTMLInputElement>('input[data-time-zone]')) {
    if (field.value === '') field.value = timeZone;
  }
}
