import type { WaitingRequest } from '../../permissions/list-waiting';
import { Alike, groupAlike } from './alike';
import { type InboxReader, WaitingRow } from './waiting-row';

/**
 * The requests that wait, with what one needs to judge them; those that are alike stand together.
 * Several can be denied at once; approving is one by one.
 */
export function WaitingList({
  requests,
  reader,
}: {
  requests: WaitingRequest[];
  reader: InboxReader;
}) {
  return (
    <ul class="requests">
      {groupAlike(requests).map((group) =>
        group.length > 1 ? (
          <Alike requests={group} reader={reader} />
        ) : (
          group.map((request) => <WaitingRow request={request} reader={reader} />)
        ),
      )}
    </ul>
  );
}
