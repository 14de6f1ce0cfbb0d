import type { Page } from '../../http/page';
import type { Notification } from '../../receivers/channels/notifications';
import { KIND_NAMES as CHANNEL_NAMES } from '../channels/kinds';
import { usePage } from '../frame/page-context';
import { Badge, Code, Time, Written, WrittenLink } from '../parts/inline';

/** The kind of a message, by its event. */
const EVENT_LABELS: Partial<Record<Notification['event'], string>> = {
  'permission.requested': 'Request',
  'permission.escalated': 'Escalation',
  'permission.decided': 'Decision',
  'permission.expired': 'Expiry',
  'permission.outcome_missing': 'Missing outcome',
};

const STATES: Record<Notification['status'], string> = {
  pending: 'on its way',
  succeeded: 'delivered',
  failed: 'not delivered',
};

const KIND_NAMES: Record<Notification['kind'], string> = {
  ...CHANNEL_NAMES,
  push: 'Web Push',
};

/**
 * A closed box with the people and Slack channels that were notified of a request; nothing if
 * nobody was.
 * @param notifications the newest messages about the request
 */
export function WhoWasTold({
  notifications: { data, has_more },
}: {
  notifications: Page<Notification>;
}) {
  if (data.length === 0) return null;
  const counts = (['succeeded', 'pending', 'failed'] as const)
    .map((state) => [data.filter(({ status }) => status === state).length, STATES[state]] as const)
    .filter(([count]) => count > 0);
  return (
    <details class="card">
      <summary>
        Who was told{' '}
        <small class="soft">
          ({has_more && `the newest ${data.length}: `}
          {counts.map((count) => count.join(' ')).join(', ')})
        </small>
      </summary>
      <ul class="lines">
        {data.map((notification) => (
          <NotificationLine notification={notification} />
        ))}
      </ul>
    </details>
  );
}

function NotificationLine({ notification }: { notification: Notification }) {
  const { id, channel_id, channel_name, kind, member_id, member_name, slack_channel } =
    notification;
  const { event, reminder, status, attempts, last_error, created_at, completed_at } = notification;
  // A device has no page.
  const hasPage = usePage().may('channels:read') && kind !== 'push';
  return (
    <li>
      <span>
        <strong>
          {slack_channel !== null && <Code text={slack_channel} />}
          {slack_channel === null && (
            <Written text={member_name ?? member_id ?? 'the address of the account'} />
          )}
        </strong>{' '}
        <Badge
          state={status}
          label={status === 'pending' && attempts > 0 ? 'tried again' : STATES[status]}
        />
        <small>
          {reminder === null ? EVENT_LABELS[event] : `Reminder ${reminder}`} · {KIND_NAMES[kind]},{' '}
          {hasPage && (
            <WrittenLink
              href={`/console/channels/${channel_id}/deliveries/${id}`}
              text={channel_name}
            />
          )}
          {!hasPage && <Written text={channel_name} />} · <Time at={completed_at ?? created_at} />
        </small>
        {status !== 'succeeded' && last_error !== null && <small class="fault">{last_error}</small>}
      </span>
    </li>
  );
}

/** Says that every message about a waiting request has failed so far, and what to do. */
export function NobodyNotified() {
  const { may } = usePage();
  return (
    <p class="notice bad">
      Nobody has been notified of this request: every message about it has failed so far. Decide it
      here if you can, or tell its reviewers yourself.{' '}
      {may('channels:write') && (
        <>
          The reasons are below, under “Who was told”. You can repair{' '}
          <a href="/console/channels">the channels</a>.
        </>
      )}
      {!may('channels:write') && 'An owner or admin of the account can repair the channels.'}
    </p>
  );
}
