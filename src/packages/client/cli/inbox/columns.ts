import type { Permission } from '../../api.ts';
import type { Names } from '../names.ts';
import { formatLimits } from '../permission-card.ts';
import type { Column } from '../terminal/table.ts';
import { formatTimeLeft } from '../terminal/time.ts';

/** Returns the columns of requests that wait. */
export const inboxColumns = (now: number, names: Names): Column<Permission>[] => [
  { title: 'LEFT', value: ({ expires_at }) => formatTimeLeft(expires_at, now), isWhole: true },
  { title: 'AGENT', value: ({ agent_id }) => names.of(agent_id) },
  { title: 'ACTION', value: ({ action }) => action },
  { title: 'RESOURCE', value: ({ resource }) => resource },
  { title: 'LIMITS', value: ({ scope }) => formatLimits(scope) },
  { title: 'TITLE (BY THE AGENT)', value: ({ title, reason }) => title ?? reason },
  { title: 'ID', value: ({ id }) => id, isWhole: true },
];
