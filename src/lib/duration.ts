import { DAY, HOUR, MINUTE } from './time';

/** A length of time for people, such as `1 h 20 min`. */
export function duration(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / MINUTE);
  if (minutes < 1) return 'under 1 min';
  if (milliseconds < HOUR) return `${minutes} min`;
  if (milliseconds < DAY) {
    const rest = minutes % 60;
    return `${Math.floor(milliseconds / HOUR)} h${rest > 0 ? ` ${rest} min` : ''}`;
  }
  const hours = Math.floor((milliseconds % DAY) / HOUR);
  const days = Math.floor(milliseconds / DAY);
  return `${days} ${days === 1 ? 'day' : 'days'}${hours > 0 && days < 7 ? ` ${hours} h` : ''}`;
}
