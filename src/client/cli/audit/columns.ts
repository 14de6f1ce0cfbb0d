import type { AuditEntry } from '../../api.ts';
import { colourStatus } from '../terminal/style.ts';
import type { Column } from '../terminal/table.ts';
import { formatTime } from '../terminal/time.ts';

/** The columns of audit entries. */
export const ENTRY_COLUMNS: Column<AuditEntry>[] = [
  { title: 'NUMBER', value: ({ sequence }) => sequence, isWhole: true },
  { title: 'TIME', value: ({ created_at }) => formatTime(created_at), isWhole: true },
  { title: 'EVENT', value: ({ event_type }) => event_type, colour: colourStatus, isWhole: true },
  { title: 'ACTION', value: ({ details }) => details.action },
  { title: 'RESOURCE', value: ({ details }) => details.resource },
  { title: 'REASON', value: ({ details }) => details.decision_reason },
  { title: 'REQUEST', value: (entry) => entry.permission_request_id, isWhole: true },
];
