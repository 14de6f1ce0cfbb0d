import type { Permission } from '../../api.ts';
import { formatLimits } from '../permission-card.ts';
import type { Column } from '../terminal/table.ts';
import { formatTimeLeft } from '../terminal/time.ts';

/** Returns the columns of requests that wait. */
export const inboxColumns = (now: number): Column<Permission>[] => [
  { title: 'LEFT', value: ({ expires_at }) => formatTimeLeft(expires_at, now), isWhole: true },
  { title: 'ACTION', value: ({ action }) => action },
  { title: 'RESOURCE', value: ({ resource }) => resource },
  { title: 'LIMITS', value: ({ scope }) => formatLimits(scope) },
  { title: 'TITLE (BY THE AGENT)', value: ({ title, reason }) => title ?? reason },
  { title: 'ID', value: ({ id }) => id, isWhole: true },
];
